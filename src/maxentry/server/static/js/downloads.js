// Files of a campaign: the completed table, the measurements, the plate of what is pending, and the report.

import * as api from "./api.js";
import { h, toast } from "./dom.js";

const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const FILES = [
  ["Completed table (CSV)", "completed", "", "completed.csv", "text/csv"],
  ["Completed table (Excel)", "completed", "form=xlsx", "completed.xlsx", WORKBOOK],
  ["Completed table (CSV, decimal comma)", "completed", "form=excel", "completed.csv", "text/csv"],
  ["Measurements (CSV)", "export", "", "measurements.csv", "text/csv"],
  ["Measurements (Excel)", "export", "form=xlsx", "measurements.xlsx", WORKBOOK],
  ["Plate as CSV", "plate", "", "plate.csv", "text/csv"],
  ["Plate as Excel", "plate", "form=xlsx", "plate.xlsx", WORKBOOK],
  ["Plate (CSV, decimal comma)", "plate", "form=excel", "plate.csv", "text/csv"],
  ["Report (HTML)", "report", "", "report.html", "text/html"],
];

/** Download a file of the campaign, however long it takes to make. */
export async function download(path, name, [, route, query, filename, type]) {
  try {
    const content = await api.file(`${path}/${route}?${query}`);
    const address = URL.createObjectURL(new Blob([content], { type }));
    h("a", { href: address, download: `${name.replaceAll(/[^\w.-]+/g, "_")}-${filename}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  } catch (error) {
    toast(error.message, "bad");
  }
}

export const completed = (path, name) => download(path, name, FILES[0]);

/** The menu of files. */
export function downloadMenu(path, name) {
  const item = (file) => h("li", {}, h("button", { type: "button", class: "quiet", onclick: async (event) => {
    event.target.disabled = true;
    await download(path, name, file);
    event.target.disabled = false;
    menu.open = false;
  } }, file[0]));
  const menu = h("details", { class: "menu", id: "downloads", onkeydown: (event) => event.key === "Escape" && ((menu.open = false), menu.firstChild.focus()) }, h("summary", {}, "Download"), h("ul", {}, FILES.map(item)));
  return menu;
}
