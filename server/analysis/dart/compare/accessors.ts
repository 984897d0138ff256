import { isIncompatibleArgument, isIncompatibleResult, type Typing } from './signatures.ts'
import { callableOf } from '../signature.ts'

/** Name, kind and signature of a declaration or member. */
export type Named = { kind: string; name: string; signature: string }

type Accessors = { read: string | null; write: string | null; isConstant: boolean; isStatic: boolean }

/**
 * Describes what breaks for code that reads or sets a variable, field, getter or setter. Replacing one of these by another is not a break in itself.
 */
export function accessBreaks(before: readonly Named[], after: readonly Named[], typing: Typing): string[] {
  const [was, is] = [accessorsOf(before), accessorsOf(after)]
  const lost = [
    ...(was.read !== null && is.read === null ? ['it can no longer be read'] : []),
    ...(was.write !== null && is.write === null ? ['it can no longer be set'] : []),
    ...(was.isConstant && !is.isConstant ? ['it is no longer constant'] : []),
    ...(was.isStatic !== is.isStatic ? [`it is ${is.isStatic ? 'now' : 'no longer'} \`static\``] : []),
  ]
  const isOtherWhenRead = was.read !== null && is.read !== null && isIncompatibleResult(was.read, is.read, typing)
  const isOtherWhenSet = was.write !== null && is.write !== null && isIncompatibleArgument(was.write, is.write, typing)
  if (isOtherWhenRead || (isOtherWhenSet && was.write === was.read && is.write === is.read))
    return [...lost, `its type is \`${is.read}\` in place of \`${was.read}\``]
  return isOtherWhenSet ? [...lost, `it takes \`${is.write}\` in place of \`${was.write}\``] : lost
}

function accessorsOf(all: readonly Named[]): Accessors {
  const found: Accessors = { read: null, write: null, isConstant: false, isStatic: false }
  for (const { kind, name, signature } of all) {
    const [, isStatic = '', rest = ''] = /^(static )?(.*)$/s.exec(signature) ?? []
    found.isStatic ||= isStatic !== '' || kind === 'enum value'
    found.isConstant ||= kind === 'constant' || kind === 'enum value'
    if (kind === 'setter') found.write = callableOf(rest)?.parameters[0]?.type ?? ''
    else {
      const [, modifier = '', type = ''] = /^((?:const|final|var) ?)?(.*)$/s.exec(rest.slice(0, -name.length).trimEnd()) ?? []
      found.read = kind === 'enum value' ? '' : type.replace(/ ?\bget$/, '')
      if ((kind === 'field' || kind === 'variable') && modifier.trim() !== 'final') found.write = found.read
    }
  }
  return found
}
