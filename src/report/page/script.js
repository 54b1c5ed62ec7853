'use strict';
function sortBy(head) {
  const table = head.closest('table'), column = head.cellIndex;
  const down = head.getAttribute('aria-sort') !== 'descending';
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
  };
  const compare = (a, b) => {
    const x = key(a), y = key(b);
    if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
    const order = typeof x === 'number' ? y - x : y.localeCompare(x, undefined, { numeric: true });
    return down ? order : -order;
  };
  for (const body of table.tBodies) {
    const rows = Array.from(body.rows).filter(row => row.className !== 'section');
    rows.sort(compare).forEach(row => body.appendChild(row));
  }
}
for (const head of document.querySelectorAll('table.sheet tr.names th')) {
  head.addEventListener('click', () => sortBy(head));
  head.addEventListener('keydown', event => { if (event.key === 'Enter') sortBy(head); });
}
for (const button of document.querySelectorAll('button.svg'))
  button.addEventListener('click', () => {
    const pictures = button.closest('figure').querySelectorAll('svg');
    pictures.forEach((picture, index) => {
      const copy = picture.cloneNode(true), style = document.createElement('style');
      style.textContent = document.getElementById('style').textContent;
      copy.prepend(style);
      copy.setAttribute('xmlns', picture.namespaceURI);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: 'image/svg+xml' }));
      link.download = button.dataset.name + (pictures.length > 1 ? '-' + (index + 1) : '') + '.svg';
      link.click();
    });
  });
