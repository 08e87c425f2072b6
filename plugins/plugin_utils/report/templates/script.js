// Without this script the page reads the same, only without the filter.
const filter = document.getElementById("filter");
if (filter) {
  filter.hidden = false;
  const findings = [...document.querySelectorAll(".finding")];
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const each of findings) each.hidden = !each.textContent.toLowerCase().includes(wanted);
  });
}
