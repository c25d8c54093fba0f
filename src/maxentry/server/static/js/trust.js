// How far to trust the last fit: whether it has converged, and whether it found more than row and column means.

const MOSTLY_MEANS = 0.3; // weight of rank 0 from which on it is said, as posteriors in Python do

/** In a sentence or two; empty where there is no fit yet. */
export function verdict(found) {
  if (!found || found.converged === undefined) return "";
  const which = found.fit.current ? "The fit" : "The last fit (a new one is running)";
  const said = [`${which} has ${found.converged ? "converged." : "not converged:"}${found.remark ? ` ${found.remark}` : ""}`];
  const means = found.rank_weights[0] ?? 0;
  if (means === 1) said.push("It uses rank 0: so far the data show little beyond row and column means, and the rest counts as noise.");
  else if (means >= MOSTLY_MEANS) said.push(`${Math.round(100 * means)}% of its chains rest on rank 0, row and column means alone, for which what else there is counts as noise.`);
  else said.push(`Rank ${found.rank}.`);
  return said.join(" ");
}
