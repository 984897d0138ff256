import { z } from 'zod'
import { builder } from '../../../platform/graphql/builder.ts'
import { payload, wordEnum } from '../../../platform/graphql/payload.ts'
import { isImpossible, parseConstraint } from '../../../platform/pub/constraint.ts'
import { AdvisorySeverity } from '../../advisories/refs.ts'
import { readPolicies, updatePolicies } from './service.ts'
import type { MirrorPolicies, PolicyMode, Selector } from './settings.ts'

const ModeEnum = wordEnum<PolicyMode>('MirrorPolicyMode', 'Whether a policy of the mirror applies.', {
  off: 'The policy does not apply.',
  audit: 'Records what the policy would refuse, without refusing it.',
  enforce: 'Refuses what the policy does not allow.',
})

const mode = { type: ModeEnum, description: 'Whether the policy applies.' } as const
const daysText = 'Number of days after its publication for which a version counts as young'
const hideText = 'Whether young versions are hidden. Otherwise they are marked as retracted, so that lockfiles keep working.'
const exemptText = 'Names of exempt packages; `*` stands for any characters.'
const fixesText = 'Whether versions that fix a published advisory are exempt.'
const severityText = 'Least severity of advisories for which a version is refused.'
const unknownText = 'Severity as which advisories without one are treated.'
const allowedText = 'Allowed packages. If empty, all packages that are not denied are allowed.'
const deniedText = 'Denied packages, even if they are also allowed.'
const allowedLicenses =
  'SPDX identifiers of allowed licenses, one of which a package must have. If empty, all that are not denied are allowed.'
const deniedLicenses = 'SPDX identifiers of denied licenses, none of which a package may have.'
const nameText = 'Package name; `*` stands for any characters. Null for any name.'
const publisherText = 'Domain of the publisher; null for any.'
const versionsText = 'Version constraint, such as `<2.0.0`; null for any version.'

const SelectorRef = builder.objectRef<Selector>('MirrorPackageSelector').implement({
  description: 'Selects packages of the upstream server. All given parts must match.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: nameText }),
    publisher: t.exposeString('publisher', { nullable: true, description: publisherText }),
    versions: t.exposeString('versions', { nullable: true, description: versionsText }),
  }),
})

const AgeRef = builder.objectRef<MirrorPolicies['minimumAge']>('MirrorMinimumAge').implement({
  description: 'Minimum age of versions. Versions without a date of publication count as old.',
  fields: (t) => ({
    mode: t.expose('mode', mode),
    days: t.exposeInt('days', { description: `${daysText}.` }),
    hide: t.exposeBoolean('hide', { description: hideText }),
    exempt: t.exposeStringList('exempt', { description: exemptText }),
    exemptFixes: t.exposeBoolean('exemptFixes', { description: fixesText }),
  }),
})

const ListsRef = builder.objectRef<MirrorPolicies['packages']>('MirrorPackageLists').implement({
  description: 'Allowed and denied packages.',
  fields: (t) => ({
    mode: t.expose('mode', mode),
    allow: t.expose('allow', { type: [SelectorRef], description: allowedText }),
    deny: t.expose('deny', { type: [SelectorRef], description: deniedText }),
  }),
})

const AdvisoriesRef = builder.objectRef<MirrorPolicies['advisories']>('MirrorAdvisoryPolicy').implement({
  description: 'Refusal of versions that are affected by security advisories. Withdrawn advisories do not count.',
  fields: (t) => ({
    mode: t.expose('mode', mode),
    severity: t.expose('severity', { type: AdvisorySeverity, description: severityText }),
    unknownAs: t.expose('unknownAs', { type: AdvisorySeverity, description: unknownText }),
  }),
})

const LicensesRef = builder.objectRef<MirrorPolicies['licenses']>('MirrorLicensePolicy').implement({
  description:
    'Allowed and denied licenses. Upstream states the licenses of the latest version only, so they are applied to all versions. Also accepted are `unknown` for packages without a recognized license, `osi-approved` and `fsf-libre`.',
  fields: (t) => ({
    mode: t.expose('mode', mode),
    allow: t.exposeStringList('allow', { description: allowedLicenses }),
    deny: t.exposeStringList('deny', { description: deniedLicenses }),
  }),
})

export const PoliciesRef = builder.objectRef<MirrorPolicies>('MirrorPolicies').implement({
  description: 'Policies for packages of the mirrored server.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    revision: t.exposeInt('revision', { description: 'Increases with every change of a policy.' }),
    minimumAge: t.expose('minimumAge', { type: AgeRef, description: 'Minimum age of versions.' }),
    packages: t.expose('packages', { type: ListsRef, description: 'Allowed and denied packages.' }),
    advisories: t.expose('advisories', { type: AdvisoriesRef, description: 'Security advisories.' }),
    licenses: t.expose('licenses', { type: LicensesRef, description: 'Allowed and denied licenses.' }),
  }),
})

builder.queryField('mirrorPolicies', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PoliciesRef,
    nullable: true,
    description: 'Policies for packages of the mirrored server, for administrators; null if this server does not mirror another one.',
    resolve: (_root, _args, context) => readPolicies(context),
  }),
)

/** Maximum number of entries in a list. */
const maxEntries = 500
const tooMany = `must have at most ${maxEntries} entries`
const namePattern = z.string().regex(/^[a-z0-9_*]{1,64}$/i, 'must be a package name, in which * stands for any characters')
const license = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$/, 'must be an SPDX identifier of a license, such as BSD-3-Clause')
const names = z.array(namePattern).max(maxEntries, tooMany)
const licenseList = z.array(license).max(maxEntries, tooMany)
const publisher = z
  .string()
  .max(100, 'must be at most 100 characters long')
  .regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i, 'must be the domain of a publisher, such as dart.dev')
const constraint = z
  .string()
  .max(100, 'must be at most 100 characters long')
  .refine(isConstraint, 'must be a version constraint that allows a version, such as <2.0.0')
const days = z.int().min(0, 'must be from 0 to 365').max(365, 'must be from 0 to 365')

/** Only spaces are accepted between comparisons, because the constraint is quoted in messages of one line. */
function isConstraint(text: string): boolean {
  const parsed = /^[\x20-\x7e]+$/.test(text) ? parseConstraint(text) : null
  return parsed !== null && !isImpossible(parsed)
}

const SelectorInput = builder.inputType('MirrorPackageSelectorInput', {
  description: 'Selects packages of the upstream server. All given parts must match; at least a name or a publisher must be given.',
  validate: z
    .looseObject({ name: z.unknown(), publisher: z.unknown() })
    .refine((one) => one.name != null || one.publisher != null, 'must have a name or a publisher'),
  fields: (t) => ({
    name: t.string({ description: nameText, validate: namePattern.nullish() }),
    publisher: t.string({ description: publisherText, validate: publisher.nullish() }),
    versions: t.string({ description: versionsText, validate: constraint.nullish() }),
  }),
})

const AgeInput = builder.inputType('MirrorMinimumAgeInput', {
  description: 'Minimum age of versions.',
  fields: (t) => ({
    mode: t.field({ ...mode, required: true }),
    days: t.int({ required: true, description: `${daysText}, from 0 to 365.`, validate: days }),
    hide: t.boolean({ required: true, description: hideText }),
    exempt: t.stringList({ required: true, description: exemptText, validate: names }),
    exemptFixes: t.boolean({ required: true, description: fixesText }),
  }),
})

const selectors = z.array(z.unknown()).max(maxEntries, tooMany)

const ListsInput = builder.inputType('MirrorPackageListsInput', {
  description: 'Allowed and denied packages.',
  fields: (t) => ({
    mode: t.field({ ...mode, required: true }),
    allow: t.field({ type: [SelectorInput], required: true, description: allowedText, validate: selectors }),
    deny: t.field({ type: [SelectorInput], required: true, description: deniedText, validate: selectors }),
  }),
})

const AdvisoriesInput = builder.inputType('MirrorAdvisoryPolicyInput', {
  description: 'Refusal of versions that are affected by security advisories.',
  fields: (t) => ({
    mode: t.field({ ...mode, required: true }),
    severity: t.field({ type: AdvisorySeverity, required: true, description: severityText }),
    unknownAs: t.field({ type: AdvisorySeverity, required: true, description: unknownText }),
  }),
})

const LicensesInput = builder.inputType('MirrorLicensePolicyInput', {
  description: 'Allowed and denied licenses.',
  fields: (t) => ({
    mode: t.field({ ...mode, required: true }),
    allow: t.stringList({ required: true, description: allowedLicenses, validate: licenseList }),
    deny: t.stringList({ required: true, description: deniedLicenses, validate: licenseList }),
  }),
})

builder.mutationField('updateMirrorPolicies', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdateMirrorPoliciesPayload', 'The updated policies.', {
      policies: { type: PoliciesRef, description: 'All policies after the change.' },
    }),
    description: 'Replaces policies for packages of the mirrored server, for administrators. They apply from the next request on.',
    typeOptions: { description: 'New policies. Policies that are left out do not change.' },
    argOptions: { description: 'The policies.' },
    input: {
      revision: t.input.int({
        description:
          'Revision on which the change is based. Fails with `Conflict` if it is not the current one. Omit it to change any revision.',
      }),
      minimumAge: t.input.field({ type: AgeInput, description: 'Minimum age of versions.' }),
      packages: t.input.field({ type: ListsInput, description: 'Allowed and denied packages.' }),
      advisories: t.input.field({ type: AdvisoriesInput, description: 'Security advisories.' }),
      licenses: t.input.field({ type: LicensesInput, description: 'Allowed and denied licenses.' }),
    },
    resolve: async (_root, { input: { packages, ...input } }, context) => ({
      policies: await updatePolicies(context, {
        ...input,
        packages: packages && { ...packages, allow: packages.allow.map(selectorOf), deny: packages.deny.map(selectorOf) },
      }),
    }),
  }),
)

const selectorOf = ({ name, publisher: domain, versions }: { [Part in keyof Selector]?: string | null | undefined }): Selector => ({
  name: name ?? null,
  publisher: domain ?? null,
  versions: versions ?? null,
})
