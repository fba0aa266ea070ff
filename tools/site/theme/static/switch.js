// Fills the lists of versions from versions.js; each goes to the same page of another one, or to its first page if it has no such page.
(() => {
  const versions = window.twolevelVersions ?? [];
  for (const list of document.querySelectorAll(".versions select:not([data-filled])")) {
    const { version, page, root } = list.dataset;
    list.dataset.filled = "";
    if (versions.length) {
      list.replaceChildren(
        ...versions.map((one) => new Option(one.name, one.version, one.version === version, one.version === version)),
      );
    }
    list.addEventListener("change", () => {
      const chosen = versions.find((one) => one.version === list.value);
      if (chosen) {
        location.href = `${root}../${chosen.version}/${chosen.pages.includes(page) ? page : "index"}.html`;
      }
    });
  }
})();
