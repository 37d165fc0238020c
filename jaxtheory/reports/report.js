// Choose claims, and open what is folded where the page is printed.
const form = document.getElementById("filter");
const claims = [...document.querySelectorAll(".claim")];
const figures = [...document.querySelectorAll(".figure")];

function choose() {
  const wanted = Object.fromEntries(new FormData(form));
  const words = wanted.words.toLowerCase();
  const active = Object.values(wanted).some(Boolean);
  for (const claim of claims) {
    const fits = ["theory", "verdict", "origin"].every(name => !wanted[name] || claim.dataset[name] === wanted[name]);
    claim.hidden = !(fits && claim.textContent.toLowerCase().includes(words));
  }
  const any = place => !active || place.querySelector(".claim:not([hidden])") !== null;
  for (const figure of figures) {
    figure.hidden = !any(figure);
    if (figure.tagName === "DETAILS") figure.open = active && any(figure);
  }
  for (const theory of document.querySelectorAll(".theory")) theory.hidden = !any(theory);
  const shown = claims.filter(claim => !claim.hidden).length;
  document.getElementById("shown").textContent = `(${shown} of ${claims.length})`;
}
form.addEventListener("input", choose);
form.addEventListener("submit", event => event.preventDefault());
choose();

function reveal() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = place?.closest("details.figure");
  if (folded && !folded.open) {
    folded.open = true;
    place.scrollIntoView();
  }
}
addEventListener("hashchange", reveal);
reveal();

let folded = [];
addEventListener("beforeprint", () => {
  folded = figures.filter(figure => figure.open === false);
  for (const figure of folded) figure.open = true;
});
addEventListener("afterprint", () => {
  for (const figure of folded) figure.open = false;
});
