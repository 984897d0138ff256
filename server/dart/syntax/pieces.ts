import type { Node } from 'web-tree-sitter'
import type { Grammar } from './grammar.ts'
import { type Shape, shapeOf } from './shapes.ts'

/** A declaration or member as code: `isMember` tells that it makes sense in a class only. */
export type Piece = { code: string; isMember: boolean }

/** What pieces of code declare, in their order; null for one that is not understood. All are read at once; those around a mistake each for itself, so that it hides none but its own. */
export function shapesOf(grammar: Grammar, pieces: readonly Piece[]): (Shape | null)[] {
  const { code, starts } = join(pieces)
  const shapes = grammar.read(code, (root) => shapesAmong(nodesBy(root, starts), pieces, code, starts))
  const until = performance.now() + longestAloneMs
  return pieces.map((piece, index) => shapes?.[index] ?? (performance.now() < until ? alone(grammar, piece) : null))
}

/** For those pieces of a file that are read by themselves: thousands of sound ones. */
const longestAloneMs = 1000

const opening = 'class _{\n'

/** One text of all pieces, with members in classes, and where each begins. */
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

/** The nodes in each piece. */
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

/** A piece by itself, whatever is wrong in it; without modifiers that not every grammar knows everywhere, such as those of `external int field;`. */
function alone(grammar: Grammar, { code, isMember }: Piece): Shape | null {
  const plain = code.replace(/^(?:(?:external|augment)\s+)+/, '')
  const from = isMember ? opening.length : 0
  const text = isMember ? `${opening}${plain}\n}` : plain
  return grammar.read(text, (root) => {
    const nodes = root.namedChildren.flatMap((child) => (isMember && child.type === 'class_definition' ? membersIn(child) : [child]))
    return shapeOf(nodes, text, from)
  })
}
