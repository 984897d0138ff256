/** The details of an advisory as HTML that is safe to show. Only whole addresses are links. */
export async function renderDetails(markdown: string): Promise<string> {
  // Only when the first one is read: it takes ten megabytes.
  const { renderMarkdown } = await import('../markdown/render.ts')
  return renderMarkdown(markdown, (target) => (/^https?:\/\//i.test(target) ? (URL.parse(target)?.href ?? null) : null))
}
