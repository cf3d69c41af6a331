"use strict";
// Steps through the frames: each says what changes from the one before.
(function () {
  const cases = JSON.parse(document.getElementById("data").textContent);
  const sections = [...document.querySelectorAll("section.case")];
  const byId = (id) => document.getElementById(id);
  const slider = byId("slider");
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  class View {
    constructor(data, section) {
      this.data = data;
      this.section = section;
      this.index = -1;
      this.looksAt(this.data.violations[this.data.chosen]);
      this.build();
      this.addSentences();
    }

    // A violation to point at; without one, an offset to look at.
    looksAt(violation, subject) {
      const found = violation || { o: subject === undefined ? this.data.subject : subject, p: false, r: -1 };
      this.subject = found.o;
      this.pointed = found.p;
      this.row = found.r;
      this.violated = Boolean(violation);
    }

    // The same as another view: a violation of the same name, or the same offset.
    looksLike(violation) {
      const same = this.data.violations.find((one) => one.i === violation.i);
      this.looksAt(same, violation.o);
      return same;
    }

    point() {
      this.heads.forEach((th, offset) => th.classList.toggle("violated", this.pointed && offset === this.subject));
      this.rows.forEach((row, number) => {
        row.line.classList.toggle("concerned", this.violated && number === this.row);
        const concerned = number > 0 && (this.row < 0 || this.row === number);
        row.cells.forEach((td, offset) => {
          td.classList.toggle("violated", this.pointed && concerned && offset === this.subject);
        });
      });
    }

    build() {
      const { rows, columns } = this.data;
      const table = element("table");
      const head = table.createTHead().insertRow();
      const corner = element("th", "offset");
      corner.scope = "col";
      head.append(corner);
      this.heads = [];
      for (let offset = 0; offset <= columns; offset += 1) {
        const th = element("th", offset < columns ? String(offset) : "");
        th.scope = "col";
        head.append(th);
        this.heads.push(th);
      }
      const body = table.createTBody();
      this.rows = rows.map((name, row) => {
        const line = body.insertRow();
        const th = element("th");
        th.scope = "row";
        const shown = { line, name: element("b", name), role: element("em"), marks: element("small"), cells: [], painted: [] };
        th.append(shown.name, shown.role, shown.marks);
        line.append(th);
        if (row === 0) line.classList.add("committed");
        for (let offset = 0; offset <= columns; offset += 1) {
          const td = line.insertCell();
          if (offset < columns) td.append(element("div", "", "cell beyond"));
          shown.cells.push(td);
          shown.painted.push(0);
        }
        return shown;
      });
      const box = this.section.querySelector(".grid");
      box.append(table);
      this.grid = box;
    }

    // Beside the rows of the diagram, or below it where there is no room: text that wraps.
    addSentences() {
      const svg = this.section.querySelector(".spacetime svg");
      const { head, step, frames, violations } = this.data;
      const violated = new Set(violations.map((one) => one.f));
      const list = this.section.querySelector(".sentences");
      list.style.setProperty("--head", `${head}px`);
      list.style.setProperty("--step", `${step}px`);
      this.sentences = frames.map((frame, row) => {
        const line = element("li", "", violated.has(row) ? "alarm" : "");
        line.append(element("span", String(frame.a), "at"), frame.s);
        list.append(line);
        return line;
      });
      const { width } = svg.viewBox.baseVal;
      this.here = document.createElementNS(SVG, "rect");
      this.here.setAttribute("class", "here");
      this.here.setAttribute("x", 1);
      this.here.setAttribute("width", width - 2);
      this.here.setAttribute("height", step - 1);
      this.here.setAttribute("rx", 4);
      svg.append(this.here);
      this.keepNames(svg, width, head - 8);
    }

    // The names of the lanes stay in sight while the diagram is scrolled.
    keepNames(svg, width, height) {
      const names = document.createElementNS(SVG, "g");
      const sheet = document.createElementNS(SVG, "rect");
      sheet.setAttribute("class", "paper");
      sheet.setAttribute("width", width);
      sheet.setAttribute("height", height);
      const texts = [...svg.querySelectorAll("text")].filter((text) => Number(text.getAttribute("y")) < height);
      names.append(sheet, ...texts);
      svg.append(names);
      const boxes = [svg.parentElement, svg.parentElement.parentElement];
      for (const box of boxes) {
        box.addEventListener("scroll", () => {
          names.setAttribute("transform", `translate(0 ${Math.max(0, box.scrollTop - 4)})`);
        });
      }
    }

    // What is where after frame `index`: numbers of cells, and the marks of each row.
    stateAt(index) {
      const cells = this.rows.map((row) => new Array(row.cells.length).fill(0));
      const marks = this.rows.map(() => null);
      for (let at = 0; at <= index; at += 1) {
        const { c, m } = this.data.frames[at];
        for (let place = 0; c && place < c.length; place += 3) cells[c[place]][c[place + 1]] = c[place + 2];
        for (const row in m || {}) marks[row] = m[row];
      }
      return { cells, marks };
    }

    show(index, scroll) {
      const frames = this.data.frames;
      if (!frames.length) return;
      const first = this.index < 0;
      this.index = Math.max(0, Math.min(index, frames.length - 1));
      const { cells, marks } = this.stateAt(this.index);
      this.rows.forEach((row, number) => {
        this.paintMarks(row, number, marks[number]);
        for (let offset = 0; offset < this.data.columns; offset += 1) {
          const td = row.cells[offset];
          const changed = row.painted[offset] !== cells[number][offset];
          td.classList.toggle("fresh", changed && !first);
          if (changed || first) this.paint(td, row, offset, cells[number][offset]);
        }
      });
      this.point();
      this.tell(cells);
      const { head, step } = this.data;
      this.here.setAttribute("y", head + this.index * step + 0.5);
      this.sentences.forEach((line, row) => line.classList.toggle("here", row === this.index));
      if (scroll) this.bringIntoView(head + this.index * step);
      if (first) this.centre();
    }

    // Which box scrolls depends on the room there is: the other ones stay where they are.
    bringIntoView(top) {
      for (const name of [".happened", ".spacetime"]) {
        const box = this.section.querySelector(name);
        box.scrollTop = Math.max(0, top - box.clientHeight / 2);
      }
      const list = this.section.querySelector(".sentences");
      list.scrollTop = Math.max(0, this.sentences[this.index].offsetTop - list.clientHeight / 2);
    }

    paint(td, row, offset, number) {
      row.painted[offset] = number;
      const [look, text, small, title] = this.data.cells[number];
      const box = element("div", "", `cell ${look}`);
      if (text) box.append(element("b", (look[0] === "d" ? "✕ " : "") + text));
      if (small) box.append(element("small", small));
      box.title = `${row.name.textContent} at ${offset}: ${title}`;
      td.replaceChildren(box);
    }

    paintMarks(row, number, mark) {
      for (const td of row.cells) {
        td.classList.remove("start", "end", "hw", "stable");
        td.querySelector("i.clean")?.remove();
      }
      if (number === 0) return;
      row.line.classList.toggle("absent", !mark);
      if (!mark) {
        row.role.textContent = "not there";
        row.marks.textContent = "";
        return;
      }
      const [up, leads, newest, start, end, high, stable, clean, snapshots] = mark;
      const role = leads === null ? "" : `${newest ? "leader" : "old leader"}, epoch ${leads}`;
      row.role.textContent = up ? role : `${role} down`.trim();
      const beside = snapshots.map(([last, epoch]) => ` (${last}, ${epoch})`).join("");
      const from = start ? `start ${start} ` : "";
      const below = stable === high ? "" : ` stable ${stable}`;
      row.marks.textContent = `${from}hw ${high} end ${end}${below}${beside && ` snapshot${beside}`}`;
      row.line.classList.toggle("down", !up);
      if (start) row.cells[start]?.classList.add("start");
      row.cells[end]?.classList.add("end");
      row.cells[high]?.classList.add("hw");
      if (stable !== high) row.cells[stable]?.classList.add("stable");
      if (clean) row.cells[clean]?.append(element("i", "▴", "clean"));
    }

    // Who has what at the offset in question, in words.
    tell(cells) {
      const { rows } = this.data;
      const { subject } = this;
      const line = this.section.querySelector(".subject");
      if (subject === null) return;
      const parts = rows.map((name, row) => {
        const cell = this.data.cells[cells[row][subject] || 0];
        return row === 0 ? `committed is ${cell[1] ? cell[3] : "nothing"}` : `${name}: ${cell[3]}`;
      });
      line.textContent = `Offset ${subject}: ${parts.join("; ")}.`;
    }

    centre() {
      const th = this.heads[this.subject];
      if (!th) return;
      const box = this.grid.getBoundingClientRect();
      const names = this.rows[0].line.cells[0].offsetWidth;
      const place = th.getBoundingClientRect();
      const middle = place.left + place.width / 2 - box.left + this.grid.scrollLeft;
      this.grid.scrollLeft = middle - names - (this.grid.clientWidth - names) / 2;
    }

    indexAt(at) {
      let found = 0;
      this.data.frames.forEach((frame, index) => {
        if (frame.a <= at) found = index;
      });
      return found;
    }
  }

  const views = cases.map((data, number) => new View(data, sections[number]));
  const main = views[0];
  const last = main.data.frames.length - 1;
  const violations = main.data.violations;
  const violated = new Set(violations.map((one) => one.f));
  let chosen = main.data.chosen;

  // Points at a violation, tells it, and goes to its event.
  function pick(number) {
    if (!violations.length) {
      go(main.data.focus);
      return;
    }
    chosen = (number + violations.length) % violations.length;
    const violation = violations[chosen];
    for (const view of views) {
      if (view === main) view.looksAt(violation);
      else view.looksLike(violation);
    }
    byId("name").textContent = violation.i;
    const { unit } = byId("name").dataset;
    byId("when").textContent = unit === "step" ? ` at step ${violation.a}` : ` at ${violation.a} ${unit}`;
    byId("sentence").textContent = violation.s;
    byId("decided").textContent = violation.d ? `Decided by: ${violation.d}.` : "";
    byId("which").textContent = `${chosen + 1}/${violations.length}`;
    byId("why")?.replaceChildren(...violation.w.map((line) => element("li", line)));
    go(violation.f);
    for (const view of views) view.centre();
  }

  function go(index) {
    const target = Math.max(0, Math.min(index, last));
    main.show(target, true);
    const frame = main.data.frames[target];
    if (!frame) return;
    for (const other of views.slice(1)) {
      other.show(target === last ? other.data.frames.length - 1 : other.indexAt(frame.a), true);
    }
    slider.value = String(target);
    slider.setAttribute("aria-valuetext", `${frame.a}: ${frame.s}`);
    const now = byId("now");
    now.replaceChildren(element("b", `${target + 1}/${last + 1}`), ` at ${frame.a}: ${frame.s}`);
    if (violated.has(target)) now.append(element("strong", violations.length > 1 ? "  ◄ a violation" : "  ◄ the violation"));
  }

  function place(event) {
    const box = event.currentTarget.querySelector("svg").getBoundingClientRect();
    return event.clientY - box.top;
  }

  views.forEach((view, number) => {
    view.section.querySelector(".spacetime").addEventListener("click", (event) => {
      const row = Math.floor((place(event) - view.data.head) / view.data.step);
      if (row < 0 || row >= view.data.frames.length) return;
      go(number === 0 ? row : main.indexAt(view.data.frames[row].a));
    });
    view.sentences.forEach((line, row) => {
      line.addEventListener("click", () => go(number === 0 ? row : main.indexAt(view.data.frames[row].a)));
    });
  });

  slider.max = String(Math.max(last, 0));
  slider.addEventListener("input", () => go(Number(slider.value)));
  byId("first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(main.index - 1));
  byId("next").addEventListener("click", () => go(main.index + 1));
  byId("last").addEventListener("click", () => go(last));
  byId("there").addEventListener("click", () => pick(chosen));
  byId("earlier")?.addEventListener("click", () => pick(chosen - 1));
  byId("later")?.addEventListener("click", () => pick(chosen + 1));

  const moves = {
    ArrowRight: () => go(main.index + 1),
    ArrowLeft: () => go(main.index - 1),
    j: () => go(main.index + 1),
    k: () => go(main.index - 1),
    Home: () => go(0),
    End: () => go(last),
    v: () => pick(chosen),
    n: () => pick(chosen + 1),
    p: () => pick(chosen - 1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !moves[event.key]) return;
    const target = event.target;
    const scrolls = target.classList && target.classList.contains("scroll") && event.key.length > 1;
    if (target === slider && event.key.length > 1) return; // it moves by itself
    if (scrolls) return; // so does a box
    event.preventDefault();
    moves[event.key]();
  });

  const themes = ["system", "light", "dark"];
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "system") + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    byId("theme").textContent = `Colours: ${next}`;
  });

  pick(chosen);
})();
