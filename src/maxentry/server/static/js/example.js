// An example campaign: simulated yields of 12 ligands with 8 substrates, a third of them measured.

const LIGANDS = ["PPh3", "PCy3", "XPhos", "SPhos", "RuPhos", "BrettPhos", "dppe", "dppf", "Xantphos", "BINAP", "JosiPhos", "IPr"];
const SUBSTRATES = Array.from({ length: 8 }, (_, k) => `S${k + 1}`);

/** The body of the request that creates it, under this name. */
export function example(name) {
  const values = [];
  LIGANDS.forEach((row, i) => SUBSTRATES.forEach((col, j) => {
    const noise = Math.sin(12.9898 * i + 78.233 * j) % 1; // the same every time
    const found = 52 + 18 * Math.sin(1.7 * i + 0.4) + 9 * Math.cos(1.1 * j) + 16 * Math.sin(0.9 * i) * Math.cos(0.8 * j) + 1.5 * noise;
    if ((5 * i + 3 * j + i * j) % 3 === 0) values.push({ row, col, value: Math.round(10 * Math.min(99, Math.max(1, found))) / 10 });
  }));
  return { name, rows: LIGANDS, cols: SUBSTRATES, values, goal: "best per column", unit: "% yield", row_name: "ligand", col_name: "substrate", seed: 1 };
}
