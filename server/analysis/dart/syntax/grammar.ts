import { fileURLToPath } from 'node:url'
import { Language, type Node, Parser } from 'web-tree-sitter'
import { type Shape, shapeOf } from './shapes.ts'

/** The code of a declaration or member. `isMember` means that the code is only valid inside a class. */
export type Piece = { code: string; isMember: boolean }

/**
 * Parses pieces of code and returns their shapes in the same order; null for pieces that cannot be parsed. Parses all pieces together, then those
 * with a syntax error individually, so that the error does not affect others.
 */
export function shapesOf(grammar: Grammar, pieces: readonly Piece[]): (Shape | null)[] {
  const { code, starts } = join(pieces)
  const shapes = grammar.read(code, (root) => shapesAmong(nodesBy(root, starts), pieces, code, starts))
  const until = performance.now() + maxIndividualMs
  return pieces.map((piece, index) => shapes?.[index] ?? (performance.now() < until ? parseIndividually(grammar, piece) : null))
}

/** Time limit per file for parsing pieces individually, in milliseconds: enough for thousands of normal pieces. */
const maxIndividualMs = 1000
const opening = 'class _{\n'

/** Joins all pieces into one text, with members wrapped in classes. Also returns the start of each piece. */
function join(pieces: readonly Piece[]): { code: string; starts: number[] } {
  const parts: string[] = []
  const starts: number[] = []
  let at = 0
  let inClass = false
  for (const { code, isMember } of pieces) {
    const before = isMember === inClass ? '\n' : isMember ? opening : '\n}\n'
    inClass = isMember
    parts.push(before, code)
    starts.push(at + before.length)
    at += before.length + code.length
  }
  if (inClass) parts.push('\n}')
  return { code: parts.join(''), starts }
}

/** Assigns the syntax nodes to the pieces that contain them. */
function nodesBy(root: Node, starts: readonly number[]): Node[][] {
  const found = starts.map((): Node[] => [])
  let piece = 0
  for (const node of root.namedChildren.flatMap((child) => (child.type === 'class_definition' ? membersIn(child) : [child]))) {
    while ((starts[piece + 1] ?? Infinity) <= node.startIndex) piece++
    found[piece]?.push(node)
  }
  return found
}

const membersIn = (node: Node): Node[] => node.childForFieldName('body')?.namedChildren ?? []

function shapesAmong(nodes: readonly Node[][], pieces: readonly Piece[], code: string, starts: readonly number[]): (Shape | null)[] {
  return pieces.map((piece, index) => {
    const [start = 0, own = []] = [starts[index], nodes[index]]
    const isSound = own.every((node) => !node.hasError && node.endIndex <= start + piece.code.length)
    return isSound ? shapeOf(own, code, start) : null
  })
}

/** Parses a single piece, even if it contains errors, without `external` and `augment`, which the grammar does not accept everywhere. */
function parseIndividually(grammar: Grammar, { code, isMember }: Piece): Shape | null {
  const plain = code.replace(/^(?:(?:external|augment)\s+)+/, '')
  const from = isMember ? opening.length : 0
  const text = isMember ? `${opening}${plain}\n}` : plain
  return grammar.read(text, (root) => {
    const nodes = root.namedChildren.flatMap((child) => (isMember && child.type === 'class_definition' ? membersIn(child) : [child]))
    return shapeOf(nodes, text, from)
  })
}

/** The tree-sitter grammar of Dart. */
export type Grammar = {
  /** Parses code and returns the result of `take` for the root node. Returns null if parsing exceeds the time limit. */
  read<T>(code: string, take: (root: Node) => T): T | null
}

/** Returns the grammar. Loads it on the first call. */
export const openGrammar = (): Promise<Grammar> => (opened ??= load())
let opened: Promise<Grammar> | undefined

async function load(): Promise<Grammar> {
  await Parser.init()
  const language = await Language.load(fileURLToPath(import.meta.resolve('tree-sitter-dart-orchard/tree-sitter-dart_orchard.wasm')))
  const parser = new Parser().setLanguage(language)
  return {
    read(code, take) {
      const until = performance.now() + timeLimitMs(code)
      const tree = parser.parse(code, null, { progressCallback: () => performance.now() > until })
      if (tree === null) parser.reset()
      try {
        return tree && take(tree.rootNode)
      } finally {
        tree?.delete()
      }
    },
  }
}

/** Time limit for parsing in milliseconds. A kilobyte usually takes a third of a millisecond; deliberately ambiguous code can take far longer. */
const timeLimitMs = (code: string): number => 500 + code.length / 250
