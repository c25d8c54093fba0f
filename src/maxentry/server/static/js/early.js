// Before anything is drawn, so that a dark page does not flash up light.
(() => {
  let wish = null;
  try {
    wish = localStorage.getItem("maxentry-theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (wish === "dark" || wish === "light") document.documentElement.dataset.theme = wish;
})();
