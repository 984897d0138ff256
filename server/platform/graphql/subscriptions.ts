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
import { unauthenticated } from '../access/guards.ts'
import { insufficientPermissions, notFound, rateLimited, serviceUnavailable } from '../../errors.ts'
import { addressKey } from '../http/limits.ts'
import { masked, noteReason } from './errors.ts'

const pollMs = 1000
const maxPerCaller = 10
const maxTotal = 250

declare module '../../services.ts' {
  interface State {
    /** Open subscriptions of this server. */
    subscriptions?: { byCaller: Map<string, number>; total: number }
  }
}

export type Watched<Value> = {
  /** Reads the current value with the caller's current permissions. Returns null if it does not exist or was deleted. */
  read: (context: Context) => Promise<Value | null>
  /** Whether the caller may continue watching. Same rule as for starting the subscription. */
  permits: (context: Context) => boolean | Promise<boolean>
  /** Returns a text that changes whenever there is a new value to send. */
  tag: (value: Value) => string
  isLast?: (value: Value) => boolean
  /** Message of the error if there is no value at the start. */
  missing: string
}

/** An event of a subscription: a value, and the context to resolve it in. */
export class Update<Value> {
  readonly value: Value
  readonly context: Context
  constructor(value: Value, context: Context) {
    this.value = value
    this.context = context
  }
}

/**
 * Subscribes to a value: yields the current one, and again after each change. Polls once per second, because other instances can change it, and
 * authenticates the caller each time. Ends with an error when permissions are lost; ends after the final value, a deletion, or a server stop.
 * @throws ApiError NotFound; RateLimitExceeded if the caller has too many open subscriptions.
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
    if (!renewed.viewer && (context.viewer || !isPermitted)) throw unauthenticated(renewed)
    if (!isPermitted) throw insufficientPermissions('You may no longer see this.')
    return read(renewed)
  })
  return value === null ? null : new Update(value, renewed)
}

/** Executes a subscription like graphql-js, but gives each event its own context and budget. An error ends the subscription. */
export async function subscribe(args: ExecutionArgs): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
  const checked = validateSubscriptionArgs(args)
  if (!('schema' in checked)) return { errors: checked }
  const source = await createSourceEventStream(checked)
  if (!(Symbol.asyncIterator in source)) return source
  return mapSourceToResponseEvent(checked, withFailure(source), (event) => {
    const { rootValue } = event
    if (rootValue instanceof Failure) return { errors: [asGraphQL(rootValue.cause, args.contextValue as Context)] }
    if (!(rootValue instanceof Update)) throw new Error('Subscription events must come from `watch`')
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

/** Sends an error as the last event. A thrown error would close the connection without informing the client. */
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

/** Counts a subscription until its connection closes. Returns a signal that aborts when the client disconnects or the server stops. */
function admit({ viewer, ip, reply, stopping, state }: Context): AbortSignal {
  if (reply.raw.destroyed) return AbortSignal.abort()
  const caller = viewer?.id ?? addressKey(ip)
  const open = (state.subscriptions ??= { byCaller: new Map<string, number>(), total: 0 })
  const mine = open.byCaller.get(caller) ?? 0
  if (mine >= maxPerCaller) throw rateLimited(5, `You have ${maxPerCaller} subscriptions open already. Close one first.`)
  if (open.total >= maxTotal)
    throw serviceUnavailable('Too many subscriptions are open on this server. Poll instead, or try again later.', 30)
  open.byCaller.set(caller, mine + 1)
  open.total++
  const gone = new AbortController()
  reply.raw.once('close', () => {
    gone.abort()
    open.total--
    const left = (open.byCaller.get(caller) ?? 1) - 1
    if (left > 0) open.byCaller.set(caller, left)
    else open.byCaller.delete(caller)
  })
  return AbortSignal.any([gone.signal, stopping.signal])
}
