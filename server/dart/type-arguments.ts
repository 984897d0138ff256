import type { Declaration } from './api.ts'
import { splitTypeParameters, typeParametersOf } from './signature.ts'

/** The name of a type without its prefix and type arguments. */
export const nameOf = (type: string): string => /(?:[\w$]+\.)?([\w$]+)/.exec(type)?.[1] ?? type

/** The type arguments of a type as written, by the names of its parameters. Those left out are the bounds. */
export function argumentsOf(declaration: Pick<Declaration, 'name' | 'signature'>, written: string): Map<string, string> {
  const given = splitTypeParameters(/<.*>/s.exec(written)?.[0] ?? '')
  return new Map(
    typeParametersOf(declaration).map((parameter, at) => {
      const [name = '', bound = 'dynamic'] = parameter.split(' extends ')
      return [name, given[at] ?? bound]
    }),
  )
}

/** Code with type parameters replaced by type arguments. */
export const fillIn = (code: string, typeArguments: ReadonlyMap<string, string>): string =>
  typeArguments.size === 0 ? code : code.replace(/(?<![\w$.])[\w$]+/g, (word) => typeArguments.get(word) ?? word)
