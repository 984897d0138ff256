import type { Declaration } from './api.ts'
import { splitTypeParameters, typeParametersOf } from './signature.ts'

/** Returns the name of a type without import prefix and type arguments. */
export const nameOf = (type: string): string => /(?:[\w$]+\.)?([\w$]+)/.exec(type)?.[1] ?? type

/** Maps the type parameters of a declaration to the type arguments of a written type. Omitted arguments are replaced by the bounds. */
export function argumentsOf(declaration: Pick<Declaration, 'name' | 'signature'>, written: string): Map<string, string> {
  const given = splitTypeParameters(/<.*>/s.exec(written)?.[0] ?? '')
  return new Map(
    typeParametersOf(declaration).map((parameter, at) => {
      const [name = '', bound = 'dynamic'] = parameter.split(' extends ')
      return [name, given[at] ?? bound]
    }),
  )
}

/** Replaces type parameters in code by type arguments. */
export const fillIn = (code: string, typeArguments: ReadonlyMap<string, string>): string =>
  typeArguments.size === 0 ? code : code.replace(/(?<![\w$.])[\w$]+/g, (word) => typeArguments.get(word) ?? word)
