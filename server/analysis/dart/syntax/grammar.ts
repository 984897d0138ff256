import { fileURLToPath } from 'node:url'
import { Language, type Node, Parser } from 'web-tree-sitter'
import { type Shape, shapeOf } from './shapes.ts'

/** The code of a declaration or member. `isMember` means that the code is only valid inside a class. */
export type Piece = { code: string; isMember: boolean }

/** The shapes of pieces of code, and the work that it took to parse them. `isCutShort`: the parser reached a limit, so shapes are missing. */
export type Parsed = { shapes: (Shape | null)[]; steps: number; isCutShort: boolean }

/**
 * Parses pieces of code and returns their shapes in the same order; null for pieces that cannot be parsed. Parses all pieces together, then those
 * with a syntax error individually, so that the error does not affect others.
 */
export function shapesOf(grammar: Grammar, pieces: readonly Piece[]): Parsed {
  const { code, starts } = join(pieces)
  const whole: Effort = { left: maxSteps(code), steps: 0 }
  const shapes = grammar.read(code, whole, (root) => shapesAmong(nodesBy(root, starts), pieces, code, starts))
  const single: Effort = { left: maxSteps(''), steps: 0 }
  const found = pieces.map((piece, index) => shapes?.[index] ?? (single.left > 0 ? parseIndividually(grammar, single, piece) : null))
  const isCutShort = single.left <= 0 && found.includes(null)
  return { shapes: found, steps: whole.steps + single.steps, isCutShort }
}

/**
 * Limit for parsing a text, in steps of the parser. A kilobyte usually takes 25 steps, and a step less than 0.1 ms; deliberately ambiguous code can take
 * far more steps. The limit counts steps instead of time, so that the result does not depend on how busy the machine is.
 */
export const maxSteps = (code: string): number => 10_000 + code.length / 5
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
function parseIndividually(grammar: Grammar, effort: Effort, { code, isMember }: Piece): Shape | null {
  const plain = code.replace(/^(?:(?:external|augment)\s+)+/, '')
  const from = isMember ? opening.length : 0
  const text = isMember ? `${opening}${plain}\n}` : plain
  return grammar.read(text, effort, (root) => {
    const nodes = root.namedChildren.flatMap((child) => (isMember && child.type === 'class_definition' ? membersIn(child) : [child]))
    return shapeOf(nodes, text, from)
  })
}

/** Number of steps of the parser that are left, and that were taken. No steps are left after a text that exceeded the limit. */
type Effort = { left: number; steps: number }

/** The tree-sitter grammar of Dart. */
export type Grammar = {
  /** Parses code and returns the result of `take` for the root node. Returns null if no steps of `effort` are left. */
  read<T>(code: string, effort: Effort, take: (root: Node) => T): T | null
}

/** Returns the grammar. Loads it on the first call. */
export const openGrammar = (): Promise<Grammar> => (opened ??= load())
let opened: Promise<Grammar> | undefined

async function load(): Promise<Grammar> {
  await Parser.init()
  const language = await Language.load(fileURLToPath(import.meta.resolve('tree-sitter-dart-orchard/tree-sitter-dart_orchard.wasm')))
  const parser = new Parser().setLanguage(language)
  return {
    read(code, effort, take) {
      // The parser calls back after every hundred operations.
      const progressCallback = () => {
        effort.steps++
        return --effort.left <= 0
      }
      const tree = parser.parse(code, null, { progressCallback })
      if (tree === null) parser.reset()
      try {
        return tree && take(tree.rootNode)
      } finally {
        tree?.delete()
      }
    },
  }
}
