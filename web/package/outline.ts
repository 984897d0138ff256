/** `hash` is the fragment of its address; that of others is the id. */
export type OutlineEntry = { id: string; text: string; level: number; hash?: string }

/** Documents with fewer sections have no outline. */
const minEntries = 3

/**
 * Returns the headings of a rendered document for its outline: two levels, without the title of the document. Returns an empty list for short
 * documents.
 */
export function outlineOf(html: string): OutlineEntry[] {
  const template = document.createElement('template')
  template.innerHTML = html
  const headings = Array.from(template.content.querySelectorAll('.heading > [id]'), (heading) => ({
    id: heading.id,
    text: heading.textContent.trim(),
    level: Number(heading.tagName.slice(1)),
  })).filter(({ text }) => text)
  const [first] = headings
  const isTitle = first !== undefined && headings.filter(({ level }) => level <= first.level).length === 1
  const sections = isTitle ? headings.slice(1) : headings
  const levels = [...new Set(sections.map(({ level }) => level))].sort((a, b) => a - b).slice(0, 2)
  const entries = sections.flatMap((entry) => (levels.includes(entry.level) ? [{ ...entry, level: levels.indexOf(entry.level) }] : []))
  return entries.length >= minEntries ? entries : []
}
