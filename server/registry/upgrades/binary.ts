import { z } from 'zod'
import { bodyTooLarge, invalidInput } from '../../errors.ts'
import { type Context, guardChange } from '../../platform/access/context.ts'
import { acceptText } from '../../platform/http/bodies.ts'
import { prefers } from '../../platform/http/caching/conditional.ts'
import { binary } from '../../platform/rest/route.ts'
import { requireMirror } from '../mirror/access.ts'
import type { Verdict } from '../mirror/policies/evaluate.ts'
import { reasons } from './lock-file.ts'
import { checkMirrored, lockStates, type MirrorCheck, type MirrorLocked } from './mirror-check.ts'

/** Maximum size of a pubspec.lock in bytes. */
const maxLockBytes = 256 * 1024

const policiesSchema = z
  .array(
    z.object({
      policy: z.string().describe('`packages`, `advisories`, `licenses` or `minimumAge`.'),
      effect: z.enum(['retract', 'refuse']),
      reason: z.string(),
      until: z.iso.datetime().nullable().describe('When the policy stops to apply by itself; null if it does not.'),
    }),
  )
  .describe('The policies that hold the version back.')
const checkSchema = z.object({
  heldBack: z.int().describe('Number of packages that are `refused` or `retracted`.'),
  refused: z.int().describe('Number of packages that clients cannot download.'),
  packages: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      dependency: z.enum(reasons),
      state: z
        .enum(lockStates)
        .describe('`retracted`: lock files that have the version keep working, but new resolutions do not choose it.'),
      policies: policiesSchema,
      message: z.string().nullable().describe('Why the version is unknown, or refused without a policy.'),
      later: z
        .object({ version: z.string(), policies: policiesSchema })
        .nullable()
        .describe('The highest version, if it is later and a policy holds it back.'),
    }),
  ),
  elsewhere: z.int().describe('Number of packages of other registries, including this one.'),
  otherSources: z.int().describe('Number of packages from an SDK, a Git repository or a path.'),
})

/** Routes of the mirror for lock files. They exist only with UPSTREAM_URL. */
export const mirrorCheckBinaries = [
  binary('POST /mirror/api/check', {
    access: 'open',
    summary: 'Checks which packages of a pubspec.lock a policy of the mirror holds back. The body is the file, with any content type.',
    admit: async (context) => {
      requireMirror(context)
      guardChange(context)
    },
    handler: sendCheck,
    consumes: ['application/yaml', 'text/plain', 'application/octet-stream', 'application/x-www-form-urlencoded'],
    accept: acceptText,
    produces: { 200: { description: 'The result.', type: ['application/json', 'text/plain'], schema: checkSchema } },
    errorStatuses: [400, 401, 403, 413, 415, 503],
  }),
]

async function sendCheck(context: Context): Promise<unknown> {
  const { request, reply } = context
  const text = typeof request.body === 'string' ? request.body : ''
  if (Buffer.byteLength(text) > maxLockBytes) throw bodyTooLarge(maxLockBytes)
  if (text.includes('packages:') && !text.includes('\n'))
    throw invalidInput('The file has no line breaks. Send it with curl --data-binary, because curl --data removes them.')
  const check = await checkMirrored(context, text)
  reply.header('cache-control', 'no-store').header('vary', 'accept')
  if (prefers(request, 'text/plain')) return reply.type('text/plain; charset=utf-8').send(textOf(check))
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(jsonOf(check)))
}

const isHeldBack = ({ state }: MirrorLocked): boolean => state === 'refused' || state === 'retracted'

const countsOf = ({ packages }: MirrorCheck) => ({
  heldBack: packages.filter(isHeldBack).length,
  refused: packages.filter(({ state }) => state === 'refused').length,
})

const policiesOf = (verdicts: readonly Verdict[]) =>
  verdicts.map(({ rule, effect, reason, until }) => ({ policy: rule, effect, reason, until: until?.toISOString() ?? null }))

const jsonOf = (check: MirrorCheck): z.infer<typeof checkSchema> => ({
  ...countsOf(check),
  packages: check.packages.map(({ name, version, reason, state, verdicts, message, later }) => ({
    name,
    version,
    dependency: reason,
    state,
    policies: policiesOf(verdicts),
    message,
    later: later && { version: later.version, policies: policiesOf(later.verdicts) },
  })),
  elsewhere: check.elsewhere,
  otherSources: check.otherSources,
})

/** Returns a line for each package that is not simply allowed, and the counts in the last line. */
function textOf(check: MirrorCheck): string {
  const lines = check.packages.flatMap(({ name, version, state, verdicts, message, later }) => [
    ...(state === 'allowed'
      ? []
      : [`${state}: ${name} ${version}: ${[...verdicts.map(({ reason }) => reason), message ?? []].flat().join(' ')}`]),
    ...(later ? [`later: ${name} ${later.version}: ${later.verdicts.map(({ reason }) => reason).join(' ')}`] : []),
  ])
  const { heldBack, refused } = countsOf(check)
  return `${[...lines, `${heldBack} of ${check.packages.length} packages held back, ${refused} refused.`].join('\n')}\n`
}
