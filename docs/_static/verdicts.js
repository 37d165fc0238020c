// Filters on the page of verdicts: by theory, origin and verdict.
addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#verdicts > h1");
  const claims = [...document.querySelectorAll(".claim")];
  if (!place || !claims.length) return;
  const bar = document.createElement("div");
  bar.className = "filters";
  const count = document.createElement("output");
  const chosen = {};
  const apply = () => {
    for (const claim of claims)
      claim.hidden = Object.entries(chosen).some(([name, value]) => value && claim.dataset[name] !== value);
    for (const section of [...document.querySelectorAll("#verdicts section")].reverse()) {
      const inside = [...section.querySelectorAll(".claim")];
      section.hidden = inside.length > 0 && inside.every((claim) => claim.hidden);
    }
    count.textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} claims`;
  };
  for (const name of ["theory", "origin", "verdict"]) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const values = [...new Set(claims.map((claim) => claim.dataset[name]))];
    for (const value of ["", ...values]) select.add(new Option(value || "all", value));
    select.addEventListener("change", () => { chosen[name] = select.value; apply(); });
    label.append(`${name} `, select);
    bar.append(label);
  }
  bar.append(count);
  place.after(bar);
  apply();
});
