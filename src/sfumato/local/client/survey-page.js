/* The page of a survey: asks, lets SfumatoLocal perturb, sends and shows the perturbed report.
 *
 * Contract: the answer is read once, handed to SfumatoLocal and cleared from the form. What is kept on
 * the device is the finished message (perturbed) and, for surveys with memory, a secret. Whoever
 * reloads, or tries again after a failure, sends the same message: a second perturbation of the
 * same answer would tell more than was promised.
 */
"use strict";
(function () {
  const find = (id) => document.getElementById(id);
  const setup = JSON.parse(find("setup").textContent);
  const { recipe, answers, target } = setup;
  const shelf = `sfumato ${recipe.survey} ${recipe.terms}`;
  const memory = new Map();

  /* Storage may be switched off; then things last as long as the page. */
  function keep(name, value) {
    memory.set(name, value);
    try { localStorage.setItem(`${shelf} ${name}`, value); } catch { /* lasts as long as the page */ }
  }
  function kept(name) {
    if (memory.has(name)) return memory.get(name);
    try { return localStorage.getItem(`${shelf} ${name}`); } catch { return null; }
  }
  function forget(name) {
    memory.delete(name);
    try { localStorage.removeItem(`${shelf} ${name}`); } catch { /* nothing was kept */ }
  }

  function secret() {
    let text = kept("secret");
    if (!text) {
      text = SfumatoLocal.hex(SfumatoLocal.newSecret());
      keep("secret", text);
    }
    return SfumatoLocal.fromHex(text);
  }

  async function makeMessage(code) {
    const report = recipe.remember
      ? await SfumatoLocal.remembered(recipe, code, secret())
      : SfumatoLocal.perturb(recipe, code);
    const nonce = SfumatoLocal.newNonce();
    return {
      text: SfumatoLocal.encodeJSON(recipe, report, nonce),
      bytes: SfumatoLocal.hex(SfumatoLocal.encode(recipe, report, nonce)),
      speaksFor: SfumatoLocal.supported(recipe, report),
      sent: false,
    };
  }

  async function send(message) {
    const response = await post(message).catch(() => {
      throw new Error("The server could not be reached.");
    });
    if (!response.ok) throw new Error(`The server answered with an error (${response.status}).`);
    const receipt = await response.json();
    const twice = receipt.dropped && receipt.dropped["sent twice"];
    if (!receipt.accepted && !twice) throw new Error("The server did not take the report.");
  }

  function post(message) {
    return fetch(target, {
      method: "POST",
      body: SfumatoLocal.fromHex(message.bytes),
      headers: { "Content-Type": "application/octet-stream" },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
    });
  }

  function show(message) {
    find("ask").hidden = true;
    find("result").hidden = false;
    const list = find("speaks");
    list.replaceChildren(...message.speaksFor.slice(0, 30).map((code) => {
      const item = document.createElement("li");
      item.textContent = answers[code];
      return item;
    }));
    const more = message.speaksFor.length - 30;
    find("more").textContent = more > 0 ? `and ${more} more` : "";
    find("speaks-none").hidden = message.speaksFor.length > 0;
    find("text").value = message.text;
    find("bytes").textContent = message.bytes;
    find("size").textContent = String(message.bytes.length / 2);
  }

  function say(kind, words) {
    const state = find("state");
    state.className = kind;
    state.textContent = words;
    find("again").hidden = kind !== "bad";
  }

  async function deliver(message) {
    show(message);
    if (!target) {
      say("good", "Your answer is disguised. Copy or download the report below and hand it in.");
      return;
    }
    if (message.sent) {
      say("good", "Sent. Thank you. This is everything that left this device:");
      return;
    }
    say("busy", "Sending …");
    try {
      await send(message);
      message.sent = true;
      keep("message", JSON.stringify(message));
      say("good", "Sent. Thank you. This is everything that left this device:");
    } catch (error) {
      say("bad", `Not sent yet. ${error.message} The same disguised report can be sent again.`);
    }
  }

  function chosen() {
    const value = new FormData(find("form")).get("answer");
    return value === null || value === "" ? -1 : Number(value);
  }

  find("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const code = chosen();
    find("missing").hidden = code >= 0;
    if (code < 0) return;
    find("go").disabled = true;
    try {
      const message = await makeMessage(code);
      find("form").reset();
      keep("message", JSON.stringify(message));
      await deliver(message);
    } catch (error) {
      find("missing").textContent = error.message;
      find("missing").hidden = false;
    }
    find("go").disabled = false;
  });
  find("again").addEventListener("click", () => deliver(JSON.parse(kept("message"))));
  find("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(find("text").value);
    } catch {
      find("text").select();
      document.execCommand("copy");
    }
    find("copy").textContent = "Copied";
  });
  find("download").addEventListener("click", () => {
    const file = new Blob([SfumatoLocal.fromHex(find("bytes").textContent)]);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = `${recipe.survey}-report.bin`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  function restart() {
    forget("message");
    find("result").hidden = true;
    find("ask").hidden = false;
    find("copy").textContent = "Copy";
  }
  find("other").addEventListener("click", () => {
    forget("secret");
    restart();
  });
  find("later").addEventListener("click", restart);

  const before = kept("message");
  if (before && !recipe.remember) deliver(JSON.parse(before));
  document.documentElement.dataset.ready = "yes";
})();
