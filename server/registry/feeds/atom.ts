// Written by hand deliberately: the feed has two kinds of elements. Feed libraries add RSS and JSON output and do not remove characters that XML
// cannot represent.

/** An Atom feed (RFC 4287). All URLs are absolute. */
export type Feed = {
  /** URL of the feed, also used as its id. */
  self: string
  title: string
  /** URL of the page that the feed describes. */
  page: string
  author: string
  entries: Entry[]
}

export type Entry = { page: string; title: string; at: Date; summary: string }

/** Renders a feed as XML. An empty feed has the epoch as its update time. */
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

/** Escapes text for an element or a quoted attribute, and removes characters that XML 1.0 cannot represent (section 2.2). */
export function text(value: string): string {
  return (
    value
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- control characters are intended here
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      .replace(/[&<>"']/g, (character) => entities[character] ?? '')
  )
}
