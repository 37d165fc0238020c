// Filters on the page of verdicts: by theory, origin, verdict and words. The address keeps them.
addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#verdicts > h1");
  const claims = [...document.querySelectorAll(".claim")];
  if (!place || !claims.length) return;
  const bar = document.createElement("div");
  bar.className = "filters";
  const count = document.createElement("output");
  const chosen = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
  const texts = new Map(claims.map((claim) => [claim, claim.textContent.toLowerCase()]));
  const apply = () => {
    const words = (chosen.get("words") || "").toLowerCase().split(/\s+/);
    for (const claim of claims)
      claim.hidden =
        ["theory", "origin", "verdict"].some((name) => chosen.get(name) && claim.dataset[name] !== chosen.get(name)) ||
        !words.every((word) => texts.get(claim).includes(word));
    for (const section of [...document.querySelectorAll("#verdicts section")].reverse()) {
      const inside = [...section.querySelectorAll(".claim")];
      section.hidden = inside.length > 0 && inside.every((claim) => claim.hidden);
    }
    count.textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} claims`;
  };
  const choose = (name, value) => {
    if (value) chosen.set(name, value);
    else chosen.delete(name);
    history.replaceState(null, "", `#${chosen.size ? `?${chosen}` : ""}`);
    apply();
  };
  const add = (name, control) => {
    control.value = chosen.get(name) || "";
    for (const event of ["input", "change"])
      control.addEventListener(event, () => choose(name, control.value));
    const label = document.createElement("label");
    label.append(`${name} `, control);
    bar.append(label);
  };
  for (const name of ["theory", "origin", "verdict"]) {
    const select = document.createElement("select");
    const values = [...new Set(claims.map((claim) => claim.dataset[name]))];
    for (const value of ["", ...values]) select.add(new Option(value || "all", value));
    add(name, select);
  }
  const search = document.createElement("input");
  search.type = "search";
  add("words", search);
  bar.append(count);
  place.after(bar);
  apply();
});
