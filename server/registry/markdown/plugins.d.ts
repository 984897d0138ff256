// These packages have no type declarations.
declare module 'markdown-it-emoji' {
  import type { MarkdownIt } from 'markdown-it'
  /** Replaces `:shortcodes:` by emoji. */
  export function full(parser: MarkdownIt, options?: { shortcuts?: Record<string, string> }): void
}
declare module 'markdown-it-footnote' {
  import type { MarkdownIt } from 'markdown-it'
  export default function footnotes(parser: MarkdownIt): void
}
