// By hand on purpose: two elements with text in them. Libraries for feeds write RSS and JSON feeds as well, and let through characters that XML
// cannot carry.

/** A feed as RFC 4287 has it; all addresses are absolute. */
export type Feed = {
  /** Its own address, which is also its id. */
  self: string
  title: string
  /** The page that it is about. */
  page: string
  /** Who publishes it. */
  author: string
  entries: Entry[]
}

export type Entry = { page: string; title: string; at: Date; summary: string }

/** The feed as XML. Without entries it was last changed at the beginning of time. */
export function renderAtom({ self, title, page, author, entries }: Feed): string {
  const updated = new Date(Math.max(0, ...entries.map(({ at }) => at.getTime())))
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `  <id>${text(self)}</id>`,
    `  <title>${text(title)}</title>`,
    `  <updated>${updated.toISOString()}</updated>`,
    `  <author><name>${text(author)}</name></author>`,
    `  <generator>Snug</generator>`,
    `  <link rel="self" type="application/atom+xml" href="${text(self)}"/>`,
    `  <link rel="alternate" type="text/html" href="${text(page)}"/>`,
    ...entries.map(renderEntry),
    '</feed>\n',
  ].join('\n')
}

function renderEntry({ page, title, at, summary }: Entry): string {
  return [
    '  <entry>',
    `    <id>${text(page)}</id>`,
    `    <title>${text(title)}</title>`,
    `    <published>${at.toISOString()}</published>`,
    `    <updated>${at.toISOString()}</updated>`,
    `    <link rel="alternate" type="text/html" href="${text(page)}"/>`,
    `    <summary>${text(summary)}</summary>`,
    '  </entry>',
  ].join('\n')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Text for an element or a quoted attribute, without what XML 1.0 cannot carry (§2.2). */
export function text(value: string): string {
  return (
    value
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- control characters are what this is about
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      .replace(/[&<>"']/g, (character) => entities[character] ?? '')
  )
}
