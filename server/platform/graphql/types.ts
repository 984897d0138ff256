import { builder } from './builder.ts'
import { type ErrorCode, invalidInput } from '../../errors.ts'
import { parseVersion } from '../pub/version.ts'
import type { Context } from '../access/context.ts'
import type { Direction, Sort } from './connections.ts'
import { maxCost } from './cost.ts'

function text(value: unknown, wanted: string, fits: (text: string) => boolean): string {
  if (typeof value === 'string' && fits(value)) return value
  throw invalidInput(`must be ${wanted}, not ${(JSON.stringify(value) ?? 'this').slice(0, 100)}`)
}

const isoMoment = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** Whether the time is valid ISO 8601 with a year that all databases support. */
function isMoment(value: string): boolean {
  const year = new Date(value).getUTCFullYear()
  return isoMoment.test(value) && year >= 1 && year <= 9999
}

/** Whether the date exists. `Date` would convert February 30 to March 2. */
function isOnDay(moment: string): boolean {
  const day = moment.slice(0, 10)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

builder.scalarType('DateTime', {
  description: 'A time in UTC: ISO 8601 with milliseconds, such as 2026-01-31T12:00:00.000Z.',
  serialize: (value) => value.toISOString(),
  parseValue: (value) =>
    new Date(text(text(value, 'a moment such as 2026-01-31T12:00:00Z', isMoment), 'on a day that the calendar has', isOnDay)),
})

builder.scalarType('BigInt', {
  description: 'An integer that may exceed 32 bits, such as a number of bytes. Encoded as a JSON number.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw invalidInput('must be a whole number')
  },
})

builder.scalarType('JSON', {
  description: 'A JSON object of the Web Authentication API, as browsers read and write it.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
    throw invalidInput('must be a JSON object')
  },
})

builder.scalarType('SemVer', {
  description: 'A package version in canonical form, such as 1.2.3-dev.1+4.',
  serialize: (value) => value,
  parseValue: (value) => text(value, 'a version such as 1.2.3', (version) => parseVersion(version) !== null),
})

builder.scalarType('URL', {
  description: 'An absolute http or https address.',
  serialize: (value) => value,
  parseValue: (value) => text(value, 'an http or https address', (url) => URL.canParse(url) && /^https?:/i.test(url)),
})

const codes: Record<ErrorCode, string> = {
  MissingAuthentication:
    'No valid credential was sent: the caller is not signed in, or the session or token has ended. With `extensions.secondFactor`, a sign-in lacks the second factor.',
  InsufficientPermissions:
    'The credential does not allow this. With `extensions.proof`, the password must be confirmed first (`password`), or the identity at a provider (`provider`).',
  CsrfMismatch: 'The request has a session cookie, but no CSRF token, or comes from another site.',
  NotFound: 'The object does not exist, or the caller may not see it.',
  InvalidInput: 'The document, a variable or a value is not valid. `extensions.field` names the input field, if there is one.',
  PackageRejected: 'The uploaded archive violates a rule of the registry.',
  Conflict: 'The request conflicts with the current state of the object.',
  RateLimitExceeded: 'Too many requests. Try again after `extensions.retryAfter` seconds.',
  VerificationTemporarilyUnavailable: 'The DNS did not answer. Try again later.',
  ServiceUnavailable: 'The database or the storage is unavailable. Try again after `extensions.retryAfter` seconds.',
  InternalError: 'Something went wrong on the server. The message contains the id of the log entry.',
}

builder.enumType('ErrorCode', {
  description:
    'Codes in `extensions.code` of errors. Mutations list theirs. Every operation can also fail with `CsrfMismatch`, `RateLimitExceeded`, `ServiceUnavailable` and `InternalError`, and with `InvalidInput` if its document is not valid.',
  values: Object.fromEntries(Object.entries(codes).map(([code, description]) => [code, { description }])),
})

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Direction of a sort order.',
  values: {
    ASC: { value: 'asc', description: 'Lowest, or oldest, first.' },
    DESC: { value: 'desc', description: 'Highest, or newest, first.' },
  },
} as const)

/** Options of the argument `direction` of a connection that is sorted by time. */
export const newestByDefault = { type: OrderDirection, description: 'DESC for the newest first, which is the default.' } as const

type SortArguments<Order> = { orderBy?: Order | null | undefined; direction?: Direction | null | undefined }

/** Defines the arguments `orderBy` and `direction` of a connection by its orders and their default directions. */
export function connectionOrders<Order extends string>(
  name: string,
  description: string,
  defaultOrder: Order,
  orders: Record<Order, { description: string; direction: Direction }>,
) {
  const nameOf = (order: string) => order.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
  const all = Object.keys(orders) as Order[]
  const describe = (order: Order) => `${orders[order].description} Default direction: ${orders[order].direction.toUpperCase()}.`
  const values = Object.fromEntries(all.map((order) => [nameOf(order), { value: order, description: describe(order) }]))
  const type = builder.enumType(name, { description, values })
  return {
    args: builder.args((t) => ({
      orderBy: t.field({ type, description: `Sort order. Default: ${nameOf(defaultOrder)}.` }),
      direction: t.field({ type: OrderDirection, description: 'Direction of the order. Its default depends on the order.' }),
    })),
    sortOf({ orderBy, direction }: SortArguments<Order>): Sort<Order> {
      const by = orderBy ?? defaultOrder
      return { by, direction: direction ?? orders[by].direction }
    },
  }
}

const RateLimit = builder.objectRef<NonNullable<Context['query']>>('RateLimit').implement({
  description: 'Your rate limit for queries, and the cost of this query.',
  fields: (t) => ({
    limit: t.int({ description: 'Maximum number of queries per minute.', resolve: ({ bucket }) => bucket.limit }),
    remaining: t.int({ description: 'Number of queries left after this one.', resolve: ({ bucket }) => bucket.remaining }),
    resetAt: t.field({ type: 'DateTime', description: 'Time when the limit is fully reset.', resolve: ({ bucket }) => bucket.resetAt }),
    cost: t.exposeInt('cost', {
      description: 'Cost of this query, as in `extensions.cost`: about one point per resolved field.',
    }),
    maxCost: t.int({ description: 'Maximum cost of a query.', resolve: () => maxCost }),
  }),
})

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    nullable: true,
    description: 'Your rate limit for queries, counted per account, or per client address if you are not signed in.',
    skipTypeScopes: true,
    resolve: (_root, _args, { query }) => query ?? null,
  }),
)
