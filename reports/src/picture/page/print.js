// What is printed in place of the diagram: the facts, the minimised run, the curve, and the milestones as a table. It is
// made only when the page is printed.

function fillPrint() {
  const milestones = steps.filter((step, index) => step.milestone || index === violationAt);
  const head = timed ? ["Step", "Time", "What happened"] : ["Step", "What happened"];
  const row = (step) => make("tr", { class: step.kind },
    make("td", {}, number.format(step.number)),
    timed ? make("td", {}, seconds(step.at)) : null,
    make("td", {}, step.words, ...step.events.map((event) => make("div", {}, `→ ${event}`))));
  const plot = byId("curve-plot").querySelector("svg")?.cloneNode(true) ?? null;
  byId("print").replaceChildren(...[
    make("h1", {}, picture.title),
    picture.violation ? make("p", { class: "violated" }, `Violated: ${picture.violation.property}. ${picture.violation.saw}`) : null,
    make("dl", {}, ...unsaidFacts().map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    ...(picture.options.length ? [make("h2", {}, "What the seed stands for"), make("ul", {}, ...picture.options.map((option) => make("li", {}, option)))] : []),
    ...(picture.script.length ? [make("h2", {}, "The run in sentences"), make("ol", {}, ...picture.script.map((sentence) =>
      make("li", { value: String(sentence.number) }, sentence.fault ? make("b", {}, "Fault: ") : null, sentence.words)))] : []),
    ...(plot ? [make("h2", {}, "Inevitability"), make("div", { class: "plot" }, plot), make("p", {}, picture.curve.words)] : []),
    make("h2", {}, `Milestones: ${number.format(milestones.length)} of ${number.format(steps.length)} steps`),
    make("table", {}, make("thead", {}, make("tr", {}, ...head.map((word) => make("th", { scope: "col" }, word)))), make("tbody", {}, ...milestones.map(row))),
  ].filter((part) => part !== null));
}

window.addEventListener("beforeprint", fillPrint);
window.addEventListener("afterprint", () => byId("print").replaceChildren());
