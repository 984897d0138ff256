import type { ObjectRef, OutputType, ShapeFromTypeParam } from '@pothos/core'
import { builder } from './builder.ts'

type Types = typeof builder.$inferSchemaTypes

/** The type of what a mutation answers: an object with these fields, each resolved from the property of its name. */
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

/** The answer of a mutation that has nothing to tell: true, once it is done. */
export const done = (change: Promise<unknown>): Promise<true> => change.then(() => true as const)
