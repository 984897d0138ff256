import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  executeSubscriptionEvent,
  GraphQLError,
  mapSourceToResponseEvent,
  validateSubscriptionArgs,
} from 'graphql'
import { setTimeout as wait } from 'node:timers/promises'
import { withinBudget } from '../access/budget.ts'
import { type Context, plainContext, renewContext } from '../access/context.ts'
import { nobody } from '../access/refusal.ts'
import { insufficientPermissions, notFound, rateLimited, serviceUnavailable } from '../errors.ts'
import { addressKey } from '../http/limits/limits.ts'
import { masked, noteReason } from './errors.ts'

/** How often what is watched is read. */
const pollMs = 1000
/** Subscriptions that one caller has open at once, and everybody together. */
const maxPerCaller = 10
const maxInAll = 250

export type Watched<Value> = {
  /** What is there now, read with the rights that the caller has by now; null when there is nothing, or nothing any more. */
  read: (context: Context) => Promise<Value | null>
  /** Whether the caller may go on watching: the rule that the field states for the beginning. */
  permits: (context: Context) => boolean | Promise<boolean>
  /** A text that differs whenever there is something new to send. */
  tag: (value: Value) => string
  /** Whether nothing will follow. */
  isLast?: (value: Value) => boolean
  /** What to say when there is nothing at the beginning. */
  missing: string
}

/** What a subscription sends: a value, and the context that it is resolved in; or why it ends. */
export class Update<Value> {
  readonly value: Value
  readonly context: Context
  constructor(value: Value, context: Context) {
    this.value = value
    this.context = context
  }
}

/**
 * What the `subscribe` of a field gives: what is there now, and again after each change, looked for once a second, so it does not matter which
 * instance made the change. Who is asking is found out anew each time: the stream ends with an error when the caller's rights do, and when a
 * caller who was signed in no longer is. It ends when
 * the last value was sent, when what is watched is gone, and when the server stops; a client that subscribes again gets what is there by then.
 * @throws ApiError NotFound; RateLimitExceeded when the caller has too many open.
 */
export async function watch<Value>(context: Context, watched: Watched<Value>): Promise<AsyncIterable<Update<Value>>> {
  const signal = admit(context)
  const value = await watched.read(context)
  if (value === null) throw notFound(watched.missing)
  return updates(new Update(value, context), watched, signal)
}

async function* updates<Value>(first: Update<Value>, watched: Watched<Value>, signal: AbortSignal): AsyncGenerator<Update<Value>> {
  let sent: string | null = null
  for (let update: Update<Value> | null = first; update; update = await next(update, watched, signal)) {
    const tag: string = watched.tag(update.value)
    if (tag !== sent) yield update
    sent = tag
    if (watched.isLast?.(update.value)) return
  }
}

async function next<Value>({ context }: Update<Value>, { read, permits }: Watched<Value>, signal: AbortSignal) {
  const goesOn = await wait(pollMs, true, { signal, ref: false }).catch(() => false)
  if (!goesOn) return null
  const renewed = plainContext(context, await renewContext(context, context))
  const value = await withinBudget(renewed, async () => {
    const isPermitted = await permits(renewed)
    if (!renewed.viewer && (context.viewer || !isPermitted)) throw nobody(renewed)
    if (!isPermitted) throw insufficientPermissions('You may no longer see this.')
    return read(renewed)
  })
  return value === null ? null : new Update(value, renewed)
}

/** Executes a subscription as graphql-js does, but each event in a context and with a budget of its own; an error ends it. */
export async function subscribe(args: ExecutionArgs): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
  const checked = validateSubscriptionArgs(args)
  if (!('schema' in checked)) return { errors: checked }
  const source = await createSourceEventStream(checked)
  if (!(Symbol.asyncIterator in source)) return source
  return mapSourceToResponseEvent(checked, withFailure(source), (event) => {
    const { rootValue } = event
    if (rootValue instanceof Failure) return { errors: [asGraphQL(rootValue.cause, args.contextValue as Context)] }
    if (!(rootValue instanceof Update)) throw new Error('A subscription sends what `watch` gives')
    const contextValue: Context = { ...rootValue.context }
    return withinBudget(contextValue, () => executeSubscriptionEvent({ ...event, contextValue }))
  })
}

class Failure {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** An error is the last thing that is sent, so that the client hears of it: thrown, it would cut the connection off. */
async function* withFailure(source: AsyncIterable<unknown>): AsyncGenerator {
  try {
    yield* source
  } catch (error) {
    yield new Failure(error)
  }
}

function asGraphQL(cause: unknown, context: Context): GraphQLError {
  const error = masked(context, cause)
  noteReason(context, error)
  return error instanceof GraphQLError ? error : new GraphQLError(error.message)
}

const open = new Map<string, number>()
let openInAll = 0

/** Counts a subscription until its connection closes. Gives what tells that it is over: the client went away, or the server stops. */
function admit({ viewer, ip, reply, stopping }: Context): AbortSignal {
  if (reply.raw.destroyed) return AbortSignal.abort()
  const caller = viewer?.id ?? addressKey(ip)
  const mine = open.get(caller) ?? 0
  if (mine >= maxPerCaller) throw rateLimited(5, `You have ${maxPerCaller} subscriptions open already. Close one first.`)
  if (openInAll >= maxInAll)
    throw serviceUnavailable('Too many subscriptions are open on this server. Poll instead, or try again later.', 30)
  open.set(caller, mine + 1)
  openInAll++
  const gone = new AbortController()
  reply.raw.once('close', () => {
    gone.abort()
    openInAll--
    const left = (open.get(caller) ?? 1) - 1
    if (left > 0) open.set(caller, left)
    else open.delete(caller)
  })
  return AbortSignal.any([gone.signal, stopping.signal])
}
