"use strict";
// Live progress of a job, where the browser runs scripts; without one the page refreshes itself.
const job = document.querySelector("[data-events]");
if (job && "EventSource" in window) {
  const stream = new EventSource(job.dataset.events);
  stream.onmessage = (event) => {
    const told = JSON.parse(event.data);
    const state = job.querySelector("[data-state]");
    const progress = job.querySelector("[data-progress]");
    state.textContent = told.state;
    progress.textContent = told.progress || "";
    if (!["queued", "running", "cancelling"].includes(told.state)) {
      stream.close();
      location.reload();
    }
  };
}
for (const field of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.textContent.trim());
    button.textContent = "Copied";
  });
  field.after(button);
}
