"use strict";
// Everything is readable without this: it only filters, opens and closes.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = document.getElementById("filters");

  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target.hidden && form) form.reset();
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  if (form) {
    const rows = all("details.row[data-verdict]");
    const words = new Map(rows.map((row) => {
      const heading = row.closest(".question").querySelector("h3").textContent;
      return [row, `${heading} ${row.querySelector("summary").textContent}`.toLowerCase()];
    }));
    const checked = (name) => new Set(all(`input[name="${name}"]:checked`, form).map((box) => box.value));
    const filter = () => {
      const verdicts = checked("verdict"), families = checked("family");
      const axes = all("select", form).filter((select) => select.value).map((select) => `${select.dataset.axis}=${select.value}`);
      const wanted = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const has = row.dataset.axes.split(" ");
        row.hidden = !(verdicts.has(row.dataset.verdict) && families.has(row.dataset.family)
          && axes.every((axis) => has.includes(axis)) && wanted.every((word) => words.get(row).includes(word)));
        shown += !row.hidden;
      }
      for (const question of all(".question")) question.hidden = !question.querySelector(".row:not([hidden])");
      document.getElementById("nothing").hidden = shown > 0;
      form.querySelector("output").value = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    };
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    form.elements.open.addEventListener("click", () => rows.forEach((row) => { if (!row.hidden) row.open = true; }));
    form.elements.close.addEventListener("click", () => rows.forEach((row) => { row.open = false; }));
    addEventListener("keydown", (event) => {
      const typing = event.target.matches("input[type=search], select, textarea");
      if (event.key === "/" && !typing) { event.preventDefault(); form.text.focus(); }
      if (event.key === "Escape") { form.reset(); form.text.blur(); }
    });
    filter();
  }

  // Paper shows what is broken or undecided in full, and puts everything back as it was.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all('details.row[data-verdict="violated"]:not([open]), details.row[data-verdict="inconclusive"]:not([open])').slice(0, 12);
    opened.forEach((row) => { row.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((row) => { row.open = false; }); opened = []; });
  reveal();
})();
