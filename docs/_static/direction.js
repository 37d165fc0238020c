// The slider of p on the page of random_walk: what two laws say at p, beside trained values.
addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".direction")) {
    const slider = place.querySelector("input"), said = place.querySelector("output");
    const now = place.querySelector(".now");
    const trained = place.dataset.trained.split(" ").map((dot) => dot.split(","));
    const measured = (p) => {
      const at = trained.find((dot) => +dot[0] === p);
      if (at) return `trained ${at[1]} (mean of ${at[2]} runs)`;
      const above = trained.findIndex((dot) => +dot[0] > p);
      const [low, high] = [trained[above - 1], trained[above]];
      return `trained ${low[1]} at p = ${low[0]} and ${high[1]} at p = ${high[0]}`;
    };
    const show = () => {
      const p = +slider.value, odds = p / (1 - p), root = Math.sqrt(odds).toFixed(2);
      const step = Math.round((p - slider.min) / slider.step);
      for (const law of ["theorem", "root"]) {
        const point = place.querySelector(`polyline.${law}`).points.getItem(step);
        const dot = now.querySelector(`.${law}`);
        dot.setAttribute("cx", point.x);
        dot.setAttribute("cy", point.y);
        now.firstElementChild.setAttribute("transform", `translate(${point.x} 0)`);
      }
      said.textContent = `p = ${p.toFixed(2)}: Πᵀ says ${odds.toFixed(2)}, √Πᵀ says ${root}; ${measured(p)}`;
      slider.setAttribute("aria-valuetext", said.textContent);
    };
    slider.addEventListener("input", show);
    slider.parentElement.hidden = false;
    now.removeAttribute("visibility");
    show();
  }
});
