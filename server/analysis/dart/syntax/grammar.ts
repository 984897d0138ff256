import { fileURLToPath } from 'node:url'
import { Language, type Node, Parser, type Tree } from 'web-tree-sitter'

/** The tree-sitter grammar of Dart. */
export type Grammar = {
  /** Parses code and returns the result of `take` for the root node. Returns null if parsing exceeds the time limit. */
  read<T>(code: string, take: (root: Node) => T): T | null
}

/** Returns the grammar. Loads it on the first call. */
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

/** Time limit for parsing in milliseconds. A kilobyte usually takes a third of a millisecond; deliberately ambiguous code can take far longer. */
const timeLimitMs = (code: string): number => 500 + code.length / 250

function parse(parser: Parser, code: string): Tree | null {
  const until = performance.now() + timeLimitMs(code)
  const tree = parser.parse(code, null, { progressCallback: () => performance.now() > until })
  if (tree === null) parser.reset()
  return tree
}
