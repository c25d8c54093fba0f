// Apply the stored theme before anything is drawn, so that a dark page does not flash light.
(() => {
  let wish = null;
  try {
    wish = localStorage.getItem("maxentry-theme");
  } catch {
    // Without local storage, follow the system.
  }
  if (wish === "dark" || wish === "light") document.documentElement.dataset.theme = wish;
})();
