for (const figure of document.querySelectorAll("figure")) {
  let scale = 1, start = null, moved = false;
  const zoom = (factor) => {
    scale = factor ? Math.min(Math.max(scale * factor, .25), 6) : 1;
    for (const picture of figure.querySelectorAll("svg")) {
      picture.style.maxWidth = scale === 1 ? "" : "none";
      picture.style.width = scale === 1 ? "" : picture.viewBox.baseVal.width * scale + "px";
    }
  };
  const factors = {"+": 1.25, "=": 1.25, "-": .8, "0": 0};
  for (const button of figure.previousElementSibling.querySelectorAll("button"))
    button.addEventListener("click", () => zoom(factors[button.dataset.zoom]));
  figure.addEventListener("keydown", (event) => {
    if (event.key in factors && !event.ctrlKey && !event.metaKey) zoom(factors[event.key]);
  });
  figure.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, {passive: false});
  figure.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0)
      start = [event.clientX + figure.scrollLeft, event.clientY + window.scrollY];
    moved = false;
  });
  figure.addEventListener("pointermove", (event) => {
    if (!start || !event.buttons) return;
    const x = start[0] - event.clientX, y = start[1] - event.clientY;
    moved = moved || Math.abs(x - figure.scrollLeft) + Math.abs(y - window.scrollY) > 4;
    if (moved) { figure.scrollLeft = x; window.scrollTo(window.scrollX, y); }
  });
  figure.addEventListener("pointerup", () => { start = null; });
  figure.addEventListener("dragstart", (event) => event.preventDefault());
  figure.addEventListener("click", (event) => { if (moved) event.preventDefault(); }, true);
}
