const texts = document.getElementById('texts');
const save = document.getElementById('save');
const fields = [...document.querySelectorAll('.target')];
const before = new Map(fields.map((field) => [field, field.textContent]));
const edited = new Set();
let isSaved = true;

texts.addEventListener('input', ({ target }) => {
  const isEdited = target.textContent !== before.get(target);
  target.classList.toggle('edited', isEdited);
  isEdited ? edited.add(target) : edited.delete(target);
  isSaved = edited.size === 0;
  save.disabled = isSaved;
  document.getElementById('edited').textContent = edited.size ? `${edited.size} edited` : 'nothing edited';
});

texts.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing) return;
  event.preventDefault();
  fields.slice(fields.indexOf(event.target) + 1).find((field) => field.offsetParent)?.focus();
});

function download() {
  const lines = fields.filter((field) => edited.has(field)).map((field) => JSON.stringify({
    source: field.parentNode.querySelector('.source').textContent,
    target: field.textContent.replace(/[ \t\r\n]+/g, ' ').trim(),
  }) + '\n');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }));
  link.download = 'edits.jsonl';
  link.click();
  isSaved = true;
  document.getElementById('edited').textContent = `${edited.size} saved as edits.jsonl`;
}

save.addEventListener('click', download);
document.addEventListener('keydown', (event) => {
  if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!save.disabled) download();
});
addEventListener('beforeunload', (event) => { if (!isSaved) event.preventDefault(); });
