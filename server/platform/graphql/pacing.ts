import { getNullableType, type GraphQLField, isListType } from 'graphql'
import type { Context } from '../access/context.ts'

/**
 * Makes the resolver of a field respect the budget of its request, if there is one: it throws if the budget is exhausted, and yields regularly to
 * other requests. Objects in lists are counted.
 */
export function enforceBudget(field: GraphQLField<unknown, Context>): void {
  const { resolve } = field
  if (!resolve) return
  const isList = isListType(getNullableType(field.type))
  field.resolve = (parent, args, context, info) => {
    const { budget } = context
    if (!budget) return resolve(parent, args, context, info)
    budget.check()
    const work = () => resolve(parent, args, context, info)
    const result = budget.passField()?.then(work) ?? work()
    return isList ? counted(result, budget) : result
  }
}

async function counted(result: unknown, budget: Pick<NonNullable<Context['budget']>, 'spendObjects'>): Promise<unknown> {
  const list = await result
  if (Array.isArray(list)) budget.spendObjects(list.length)
  return list
}
