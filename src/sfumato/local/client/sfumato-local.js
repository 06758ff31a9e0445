/* Sfumato, local differential privacy in the browser: one file, no dependencies.
 *
 * Contract: an answer is perturbed here, on the person's own device, and nothing but the perturbed
 * report is ever written to a message. Randomness is the browser's cryptographic one alone
 * (crypto.getRandomValues). A coin is 32 random bits compared with a whole number from the
 * recipe of the survey, so its probability is exact; no floating-point number decides anything.
 * Messages are the bytes that docs/reference/wire-format.md specifies.
 *
 *   const report = SfumatoLocal.perturb(recipe, 3);                 // fresh randomness
 *   const report = await SfumatoLocal.remembered(recipe, 3, secret) // the same one every time
 *   const bytes  = SfumatoLocal.encode(recipe, report, SfumatoLocal.newNonce());
 */
"use strict";
(function (home) {
  const ONE = 4294967296; // 2^32

  /* ---- randomness: a source gives whole numbers of 32 bits ---- */

  /** Fresh random numbers from the browser. */
  function browserSource() {
    const buffer = new Uint32Array(256);
    let used = buffer.length;
    return {
      word() {
        if (used === buffer.length) {
          home.crypto.getRandomValues(buffer);
          used = 0;
        }
        const word = buffer[used];
        buffer[used] = 0;
        used += 1;
        return word;
      },
    };
  }

  class Exhausted extends Error {}

  /** Numbers from given bytes, for memory; asking for more than there are throws Exhausted. */
  function bytesSource(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let place = 0;
    return {
      word() {
        if (place + 4 > view.byteLength) throw new Exhausted();
        const word = view.getUint32(place, true);
        place += 4;
        return word;
      },
    };
  }

  /** Yes with probability limit / 2^32, exactly. */
  function coin(source, limit) {
    return source.word() < limit;
  }

  /** A uniform whole number below a bound of at most 2^32: words past the last whole round go. */
  function below(source, bound) {
    const past = ONE - (ONE % bound);
    let word = source.word();
    while (word >= past) word = source.word();
    return word % bound;
  }

  /** Keep a number below size with probability keep / 2^32, else take any other one. */
  function answerOrOther(source, own, keep, size) {
    if (coin(source, keep)) return own;
    const other = below(source, size - 1);
    return other < own ? other : other + 1;
  }

  /* ---- protocols: the number of an answer becomes a report ---- */

  function setBit(bits, place) {
    bits[place >> 3] |= 1 << (place & 7);
  }

  function unary(recipe, code, source) {
    const bits = new Uint8Array(Math.ceil(recipe.size / 8));
    for (let place = 0; place < recipe.size; place += 1) {
      if (coin(source, place === code ? recipe.one : recipe.zero)) setBit(bits, place);
    }
    return { bits };
  }

  /** The cell of an answer under the hash function of a seed. */
  function cell(recipe, seed, code) {
    const prime = BigInt(recipe.prime);
    const place = (BigInt(seed[0]) + BigInt(seed[1]) * BigInt(code)) % prime;
    return Number((place * BigInt(recipe.cells)) / prime);
  }

  function oddBits(number) {
    let odd = 0;
    for (let rest = number; rest > 0; rest = Math.floor(rest / 2)) odd ^= rest % 2;
    return odd === 1;
  }

  /** An index of the answer's half block, of its other half, or of another block. */
  function hadamard(recipe, code, source) {
    const own = code % recipe.blocks;
    const row = Math.floor(code / recipe.blocks) + 1;
    const inside = coin(source, recipe.inside);
    let column = below(source, recipe.width);
    const half = inside ? 0 : below(source, 2 * recipe.blocks - 1);
    if (half > 0) {
      const block = (own + Math.floor((half + 1) / 2)) % recipe.blocks;
      return { index: block * recipe.width + column };
    }
    // A column of the wrong sign is mirrored in the lowest set bit of the row.
    if (oddBits(row & column) === inside) column ^= row & -row;
    return { index: own * recipe.width + column };
  }

  /** A set with or without the answer, the others drawn by Floyd's sampling. */
  function subset(recipe, code, source) {
    const bits = new Uint8Array(Math.ceil(recipe.size / 8));
    const include = coin(source, recipe.include);
    const wanted = recipe.chosen - (include ? 1 : 0);
    const others = recipe.size - 1;
    const drawn = new Set();
    for (let last = others - wanted; last < others; last += 1) {
      const pick = below(source, last + 1);
      drawn.add(drawn.has(pick) ? last : pick);
    }
    for (const other of drawn) setBit(bits, other < code ? other : other + 1);
    if (include) setBit(bits, code);
    return { bits };
  }

  const PROTOCOLS = {
    GRR: (recipe, code, source) => ({
      value: answerOrOther(source, code, recipe.keep, recipe.size),
    }),
    SUE: unary,
    OUE: unary,
    OLH: (recipe, code, source) => {
      const seed = Uint32Array.of(below(source, recipe.prime), below(source, recipe.prime));
      const own = cell(recipe, seed, code);
      return { seed, value: answerOrOther(source, own, recipe.keep, recipe.cells) };
    },
    Hadamard: hadamard,
    SubsetSelection: subset,
  };

  /** The ratio between the probabilities of a report under two answers, as a logarithm. */
  const LOSS = {
    GRR: (r) => Math.log((r.keep * (r.size - 1)) / (ONE - r.keep)),
    SUE: (r) => Math.log((r.one / r.zero) * ((ONE - r.zero) / (ONE - r.one))),
    OUE: (r) => Math.log((r.one / r.zero) * ((ONE - r.zero) / (ONE - r.one))),
    OLH: (r) => Math.log((r.keep * (r.cells - 1)) / (ONE - r.keep)),
    Hadamard: (r) =>
      Math.log((r.inside * (r.blocks * r.width - r.width / 2)) / ((ONE - r.inside) * (r.width / 2))),
    SubsetSelection: (r) =>
      Math.log((r.include * (r.size - r.chosen)) / ((ONE - r.include) * r.chosen)),
  };

  const whole = (number, least, most) =>
    Number.isInteger(number) && number >= least && number <= most;

  /** A coin that always falls on the same side would show the answer. */
  const isCoin = (limit) => whole(limit, 1, ONE - 1);

  const powerOfTwo = (number) => whole(number, 1, 2 ** 30) && (number & (number - 1)) === 0;

  /** What the numbers of a recipe must be for its logarithm above to be the whole loss. */
  const SOUND = {
    GRR: (r) => isCoin(r.keep),
    SUE: (r) => isCoin(r.one) && isCoin(r.zero),
    OUE: (r) => isCoin(r.one) && isCoin(r.zero),
    OLH: (r) => isCoin(r.keep) && whole(r.prime, 2, ONE) && whole(r.cells, 2, r.prime),
    // A row beyond the width is not balanced: its halves would have different sizes.
    Hadamard: (r) => isCoin(r.inside) && whole(r.blocks, 1, 2 ** 30) && powerOfTwo(r.width) &&
      r.width > Math.max(1, Math.ceil(r.size / r.blocks)) && r.blocks * r.width <= ONE,
    SubsetSelection: (r) => isCoin(r.include) && whole(r.chosen, 1, r.size - 1),
  };

  /** The epsilon that the coins of a recipe keep: a loss counts in either direction. */
  function epsilon(recipe) {
    if (!Object.hasOwn(LOSS, recipe.protocol)) {
      throw new Error("This page does not know the protocol of the survey; nothing was sent.");
    }
    if (!whole(recipe.size, 2, 2 ** 30) || !SOUND[recipe.protocol](recipe)) {
      throw new Error("The chances of the survey would not disguise an answer; nothing was sent.");
    }
    return Math.abs(LOSS[recipe.protocol](recipe));
  }

  /** Refuse a recipe whose coins keep less than it promises, or an answer it does not have. */
  function check(recipe, code) {
    const kept = epsilon(recipe);
    const promised = Number.isFinite(recipe.epsilon) ? recipe.epsilon + 1e-9 : 0;
    if (recipe.format !== 1 || !(kept <= promised)) {
      throw new Error("The survey promises more than it keeps; nothing was sent.");
    }
    if (!Number.isInteger(code) || code < 0 || code >= recipe.size) {
      throw new Error("There is no such answer; nothing was sent.");
    }
  }

  /** Perturb an answer, given by its number, with fresh randomness. */
  function perturb(recipe, code, source) {
    check(recipe, code);
    return PROTOCOLS[recipe.protocol](recipe, code, source || browserSource());
  }

  /* ---- memory: the randomness of an answer follows from a secret on this device ---- */

  function newSecret() {
    return home.crypto.getRandomValues(new Uint8Array(32));
  }

  /** Bytes that only the secret determines: HMAC-SHA-256 of survey, answer and a counter. */
  async function keyedBytes(recipe, code, secret, blocks) {
    const key = await home.crypto.subtle.importKey(
      "raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const bytes = new Uint8Array(32 * blocks);
    const name = new TextEncoder().encode(`sfumato ${recipe.survey} ${recipe.terms} ${code} `);
    for (let block = 0; block < blocks; block += 1) {
      const text = new Uint8Array(name.length + 4);
      text.set(name);
      new DataView(text.buffer).setUint32(name.length, block, true);
      const part = await home.crypto.subtle.sign("HMAC", key, text);
      bytes.set(new Uint8Array(part), 32 * block);
    }
    return bytes;
  }

  /** The report of an answer that this device gives whenever the answer is the same. */
  async function remembered(recipe, code, secret) {
    check(recipe, code);
    if (!home.crypto.subtle) throw new Error("Memory needs a page opened over https.");
    for (let blocks = 8 + Math.ceil(recipe.size / 8); ; blocks *= 2) {
      const bytes = await keyedBytes(recipe, code, secret, blocks);
      try {
        return perturb(recipe, code, bytesSource(bytes));
      } catch (error) {
        if (!(error instanceof Exhausted)) throw error;
      }
    }
  }

  /* ---- messages ---- */

  function hex(bytes) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function fromHex(text) {
    return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
  }

  function newNonce() {
    return home.crypto.getRandomValues(new Uint8Array(8));
  }

  /** The bytes of one field: whole numbers, little-endian. */
  function fieldBytes(field, value) {
    const numbers = typeof value === "number" ? [value] : Array.from(value);
    if (numbers.length !== field.entries) throw new Error("A report does not have this shape.");
    const bytes = new Uint8Array(field.bytes * field.entries);
    numbers.forEach((number, entry) => {
      let rest = number;
      for (let place = 0; place < field.bytes; place += 1) {
        bytes[entry * field.bytes + place] = rest % 256;
        rest = Math.floor(rest / 256);
      }
    });
    return bytes;
  }

  /** A binary message with one report. */
  function encode(recipe, report, nonce) {
    const parts = recipe.fields.map((field) => fieldBytes(field, report[field.name]));
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    const message = new Uint8Array(32 + size);
    const view = new DataView(message.buffer);
    message.set([0x53, 0x46, 0x4c, recipe.format]);
    message.set(fromHex(recipe.key), 4);
    view.setUint16(8, recipe.version, true);
    message.set(fromHex(recipe.terms), 10);
    message.set(nonce, 16);
    view.setUint32(24, 1, true);
    view.setUint32(28, size, true);
    let place = 32;
    for (const part of parts) {
      message.set(part, place);
      place += part.length;
    }
    return message;
  }

  /** The same message as a line of JSON. */
  function encodeJSON(recipe, report, nonce) {
    const written = {};
    for (const field of recipe.fields) {
      const value = report[field.name];
      written[field.name] = field.hex ? hex(fieldBytes(field, value)) : value;
    }
    return JSON.stringify({
      sfumato: recipe.format,
      survey: recipe.survey,
      version: recipe.version,
      terms: recipe.terms,
      nonce: hex(nonce),
      reports: [written],
    });
  }

  /** Which answers a report speaks for, as the collector will count it. */
  function supported(recipe, report) {
    const all = Array.from({ length: recipe.size }, (_, code) => code);
    if (report.bits) return all.filter((code) => (report.bits[code >> 3] >> (code & 7)) & 1);
    if (report.seed) return all.filter((code) => cell(recipe, report.seed, code) === report.value);
    if (recipe.protocol === "Hadamard") {
      const block = Math.floor(report.index / recipe.width);
      const column = report.index % recipe.width;
      return all.filter((code) => code % recipe.blocks === block &&
        !oddBits((Math.floor(code / recipe.blocks) + 1) & column));
    }
    return [report.value];
  }

  const names = {
    perturb, remembered, encode, encodeJSON, supported, epsilon, check,
    newNonce, newSecret, browserSource, bytesSource, coin, below, cell, hex, fromHex,
  };
  home.SfumatoLocal = Object.freeze(names);
  if (typeof module === "object" && module.exports) module.exports = home.SfumatoLocal;
})(globalThis);
