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

/** Returns the payload of a mutation once its change is complete. */
export const done = <Result>(change: Promise<unknown>, result: Result): Promise<Result> => change.then(() => result)

const connections = new Map<string, object>()

/**
 * Returns the connection type of a type, such as `PackageConnection`, which all lists of the type share. Its static type is `never`, because Pothos
 * types a reference for one kind of context, and fields with `withAuth` have another.
 */
export function connectionOf<Shape>(type: ObjectRef<Types, Shape>): never {
  const known = connections.get(type.name)
  if (known) return known as never
  const defined = builder.connectionObject(
    { type, name: `${type.name}Connection`, description: `A page of objects of the type \`${type.name}\`.` },
    { name: `${type.name}Edge`, description: `A \`${type.name}\` in a page.` },
  )
  connections.set(type.name, defined)
  return defined as never
}

/** Defines an enum from its words in lower case, with their descriptions. GraphQL names them in upper case. */
export const wordEnum = <Word extends string>(name: string, description: string, words: Record<Word, string>) =>
  builder.enumType(name, {
    description,
    values: Object.fromEntries(
      Object.entries<string>(words).map(([word, about]) => [word.toUpperCase(), { value: word as Word, description: about }]),
    ),
  })
