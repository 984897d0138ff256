import { fileURLToPath } from 'node:url'
import { Language, type Node, Parser, type Tree } from 'web-tree-sitter'

/** Dart's grammar, ready to read code. */
export type Grammar = {
  /** Reads code and gives what `take` makes of its syntax tree; null when it takes longer than any sound code does. */
  read<T>(code: string, take: (root: Node) => T): T | null
}

/** The grammar, loaded when it is first asked for. */
export function openGrammar(): Promise<Grammar> {
  opened ??= load()
  return opened
}

let opened: Promise<Grammar> | undefined

async function load(): Promise<Grammar> {
  await Parser.init()
  const language = await Language.load(fileURLToPath(import.meta.resolve('tree-sitter-dart-orchard/tree-sitter-dart_orchard.wasm')))
  const parser = new Parser().setLanguage(language)
  return {
    read(code, take) {
      const tree = parse(parser, code)
      try {
        return tree === null ? null : take(tree.rootNode)
      } finally {
        tree?.delete()
      }
    },
  }
}

/** A kilobyte takes a third of a millisecond; what is built to be ambiguous can take far longer. */
const longestMs = (code: string): number => 500 + code.length / 250

function parse(parser: Parser, code: string): Tree | null {
  const until = performance.now() + longestMs(code)
  const tree = parser.parse(code, null, { progressCallback: () => performance.now() > until })
  if (tree === null) parser.reset()
  return tree
}
