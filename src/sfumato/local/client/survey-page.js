/* The page of a survey: asks, lets SfumatoLocal perturb, sends and shows the perturbed report.
 *
 * Contract: the answer is read once, handed to SfumatoLocal and cleared from the form. What is kept
 * on the device is the finished message (perturbed) or, for surveys with memory, a secret; never
 * both, because the secret and the report together give the answer. Whoever reloads, tries again
 * after a failure or answers in a second tab sends the same message: a second perturbation of the
 * same answer would tell more than was promised. Memory that cannot be kept is refused for the same
 * reason.
 */
"use strict";
(function () {
  const find = (id) => document.getElementById(id);
  const setup = JSON.parse(find("setup").textContent);
  const { recipe, answers, target } = setup;
  const shelf = `sfumato ${recipe.survey} ${recipe.terms}`;
  const please = find("missing").textContent;
  let current = null; // the message that this page shows

  /* Storage may be switched off; then a message lasts as long as the page. */
  function keep(name, value) {
    try { localStorage.setItem(`${shelf} ${name}`, value); } catch { /* nothing is kept */ }
  }
  function kept(name) {
    try { return localStorage.getItem(`${shelf} ${name}`); } catch { return null; }
  }
  function forget(name) {
    try { localStorage.removeItem(`${shelf} ${name}`); } catch { /* nothing was kept */ }
  }

  /** The message on this device, whichever tab made it. */
  function keptMessage() {
    return recipe.remember ? null : JSON.parse(kept("message"));
  }
  function keepMessage(message) {
    if (!recipe.remember) keep("message", JSON.stringify(message));
  }

  /** The secret of this device. One that is lost would make a fresh report at every visit. */
  function secret() {
    const before = kept("secret");
    if (before) return SfumatoLocal.fromHex(before);
    const text = SfumatoLocal.hex(SfumatoLocal.newSecret());
    keep("secret", text);
    if (kept("secret") !== text) {
      throw new Error("This browser does not let the page keep anything, so it could not repeat " +
        "the same report when you answer again. Nothing was sent. Allow this site to keep data, " +
        "or use another browser.");
    }
    askToPersist();
    return SfumatoLocal.fromHex(text);
  }

  /** Ask the browser not to clear the secret by itself when room is short; it may decline. */
  function askToPersist() {
    if (navigator.storage && navigator.storage.persist) navigator.storage.persist().catch(() => {});
  }

  /* What one tab keeps reaches the others a little later, so the lock is held until it has. */
  const SPREADING = 300; // milliseconds
  let letGo = () => {};

  /** Do something while no other tab does it. Pages without https or of a file have no locks. */
  function alone(work) {
    if (!navigator.locks) return work();
    letGo(); // this tab knows what it kept
    return new Promise((resolve, reject) => {
      let begun = false;
      navigator.locks.request(shelf, async () => {
        begun = true;
        await work().then(resolve, reject);
        await new Promise((done) => {
          letGo = done;
          setTimeout(done, SPREADING);
        });
      }).catch(() => { if (!begun) work().then(resolve, reject); });
    });
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

  /** The message that was made before, in any tab, or else a new one. */
  async function theMessage(code) {
    const before = keptMessage();
    if (before) return before;
    const message = await makeMessage(code);
    keepMessage(message);
    return message;
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
    current = message;
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
    find("code").textContent = message.bytes.slice(32, 48); // the nonce: bytes 16 to 23
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
      const shelved = keptMessage(); // another person may have begun in another tab
      if (shelved && shelved.bytes === message.bytes) keepMessage(message);
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
    find("missing").textContent = please;
    find("missing").hidden = code >= 0;
    if (code < 0) return;
    find("go").disabled = true;
    try {
      const message = await alone(() => theMessage(code));
      find("form").reset();
      await deliver(message);
    } catch (error) {
      find("missing").textContent = error.message;
      find("missing").hidden = false;
    }
    find("go").disabled = false;
  });
  find("again").addEventListener("click", () => deliver(current));
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
    current = null;
    find("result").hidden = true;
    find("ask").hidden = false;
    find("copy").textContent = "Copy";
  }
  find("other").addEventListener("click", () => {
    forget("secret");
    restart();
  });
  find("later").addEventListener("click", restart);

  /* An answer given in another tab is this tab's answer too. */
  window.addEventListener("storage", (event) => {
    if (event.key !== `${shelf} message` || recipe.remember) return;
    const message = keptMessage();
    if (!message || (current && current.bytes !== message.bytes)) return;
    find("form").reset();
    show(message);
    if (message.sent || !target) deliver(message);
    else say("bad", "Answered in another tab. The same disguised report can be sent again.");
  });

  if (recipe.remember) forget("message");
  const before = keptMessage();
  if (before) deliver(before);
  document.documentElement.dataset.ready = "yes";
})();
