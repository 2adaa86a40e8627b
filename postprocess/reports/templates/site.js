// Shows only what has the chosen values. The fragment of the address keeps them: #partition=a:default&benchmark=b_eff
"use strict";
const bar = document.getElementById("filter");
if (bar) {
  const fields = [...bar.querySelectorAll("select")];
  const items = [...document.querySelectorAll("[data-benchmark]")];
  const fits = (item, field) => !field.value || (item.dataset[field.name] ?? "").split("\n").includes(field.value);
  const apply = () => {
    const chosen = fields.filter(field => field.value);
    for (const item of items) item.hidden = !chosen.every(field => fits(item, field));
    for (const part of document.querySelectorAll(".part")) part.hidden = !part.querySelector("[data-rows]:not([hidden])");
    const groups = items.filter(item => item.dataset.rows && !item.hidden);
    const rows = groups.reduce((sum, item) => sum + Number(item.dataset.rows), 0);
    if (chosen.length && rows <= 200) groups.forEach(item => { item.open = true; });
    const count = `${rows} metric${rows === 1 ? "" : "s"}`;
    bar.querySelector("[role=status]").textContent = chosen.length ? `${count}; the address keeps this filter` : "";
  };
  const read = () => {
    if (location.hash.length > 1 && !location.hash.includes("=")) return;  // a link to a part of the page
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = kept.get(field.name) ?? "";
    apply();
  };
  bar.addEventListener("change", () => {
    const chosen = fields.filter(field => field.value).map(field => [field.name, field.value]);
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
    apply();
  });
  window.addEventListener("hashchange", read);
  bar.hidden = false;
  read();
}
