import type { ObjectRef, OutputType, ShapeFromTypeParam } from '@pothos/core'
import { builder } from './builder.ts'

type Types = typeof builder.$inferSchemaTypes

/** Defines the payload type of a mutation: an object whose fields are resolved from the properties of the same names. */
export function payload<const Fields extends Record<string, PayloadField>>(
  name: string,
  description: string,
  fields: Fields,
): ObjectRef<Types, Payload<Fields>> {
  return builder.objectRef<Payload<Fields>>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(Object.entries(fields).map(([field, options]) => [field, t.expose(field as never, options as never)])),
  })
}

type PayloadField = {
  type: OutputType<Types> | readonly [OutputType<Types>]
  description: string
  nullable?: true
  extensions?: { secret: true }
}

type Payload<Fields extends Record<string, PayloadField>> = {
  [Name in keyof Fields]: ShapeFromTypeParam<Types, Mutable<Fields[Name]['type']>, Fields[Name] extends { nullable: true } ? true : false>
}
type Mutable<Type> = Type extends readonly [infer Item extends OutputType<Types>] ? [Item] : Type extends OutputType<Types> ? Type : never

/** Returns true once the change is complete, for mutations without other results. */
export const done = (change: Promise<unknown>): Promise<true> => change.then(() => true as const)

/** Defines an enum from its words in lower case, with their descriptions. GraphQL names them in upper case. */
export const wordEnum = <Word extends string>(name: string, description: string, words: Record<Word, string>) =>
  builder.enumType(name, {
    description,
    values: Object.fromEntries(
      Object.entries<string>(words).map(([word, about]) => [word.toUpperCase(), { value: word as Word, description: about }]),
    ),
  })
