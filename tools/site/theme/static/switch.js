// Fills the list of versions from versions.js, and goes to the same page of another one, or to its first page if it has no such page.
(() => {
  const list = document.getElementById("versions");
  const versions = window.twolevelVersions ?? [];
  const { version, page, root } = list.dataset;
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
})();
