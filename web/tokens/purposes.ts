import type { CreateTokenInput, Role, TokenAction, TokenScope } from '../generated/graphql.ts'

/** What a token is for. Each purpose presets the narrowest token that serves it. */
export type Purpose = 'machine' | 'publish' | 'read' | 'account' | 'administration'

interface Choice {
  value: Purpose
  label: string
  description: string
  /** Suggested name of the token. */
  name: string
  /** The actions that the token allows by default; null for everything that its scopes allow. */
  actions: TokenAction[] | null
  scopes: TokenScope[]
  days: number
}

const choices: Choice[] = [
  {
    value: 'machine',
    label: 'Use on my machine',
    description: 'The dart and flutter tools get and publish packages.',
    name: 'My machine',
    actions: ['READ', 'PUBLISH'],
    scopes: ['READ', 'WRITE'],
    days: 90,
  },
  {
    value: 'publish',
    label: 'Publish from CI',
    description: 'Jobs publish the packages that you name.',
    name: 'Publish from CI',
    actions: ['READ', 'PUBLISH'],
    scopes: ['READ', 'WRITE'],
    days: 90,
  },
  {
    value: 'read',
    label: 'Get packages in CI',
    description: 'Jobs download packages, and nothing else.',
    name: 'Get packages in CI',
    actions: ['READ'],
    scopes: ['READ'],
    days: 90,
  },
  {
    value: 'account',
    label: 'Manage packages by script',
    description: 'All that your account may do, except administration.',
    name: 'Script',
    actions: null,
    scopes: ['READ', 'WRITE'],
    days: 30,
  },
  {
    value: 'administration',
    label: 'Administer by script',
    description: 'All that your role allows on this server.',
    name: 'Administration script',
    actions: null,
    scopes: ['READ', 'WRITE', 'ADMIN'],
    days: 7,
  },
]

/** What a link to the form for a token presets: what the token is for, and the package that the user came from. */
export interface WantedToken {
  purpose?: Purpose | undefined
  package?: string | undefined
}

export const isPurpose = (text: unknown): text is Purpose => choices.some(({ value }) => value === text)

/** Returns the purposes of the tokens of an account with this role. */
export function purposesOf(role: Role): Choice[] {
  if (role === 'VIEWER') return choices.filter(({ value }) => value === 'machine' || value === 'read').map(onlyReading)
  return role === 'ADMIN' || role === 'OWNER' ? choices : choices.filter(({ value }) => value !== 'administration')
}

const onlyReading = (choice: Choice): Choice => ({
  ...choice,
  actions: ['READ'],
  scopes: ['READ'],
  description: choice.description.replace(' and publish', ''),
})

function choiceOf(purpose: Purpose, role: Role): Choice {
  const choice = purposesOf(role).find(({ value }) => value === purpose)
  if (!choice) throw new Error(`The role ${role} has no tokens for ${purpose}.`)
  return choice
}

/** Names of the actions, in the order of the form. */
export const actionNames: Record<TokenAction, string> = { READ: 'Read', PUBLISH: 'Publish', RETRACT: 'Retract' }

/** The fields of the form that a purpose sets. `actions` is empty if the purpose has no limits. */
export interface TokenDraft {
  name: string
  purpose: Purpose
  actions: TokenAction[]
  packages: string
  addresses: string
  /** 0 for a token that never expires. */
  days: number
}

/** Returns the preset of a link. The purpose is used only if the role has it. */
export function presetOfLink({ purpose, package: name }: WantedToken, usual: Purpose, role: Role, maxDays?: number | null) {
  const preset = presetOf(purposesOf(role).find(({ value }) => value === purpose)?.value ?? usual, role, maxDays)
  if (name === undefined || !isLimited(preset.purpose) || preset.purpose === 'machine') return preset
  // A job that gets a package also gets its dependencies, so only publishing is limited to the package.
  return { ...preset, name: `${preset.name}: ${name}`.slice(0, 100), packages: preset.purpose === 'publish' ? name : '' }
}

/** Returns the preset of a purpose. `maxDays` is the maximum lifetime on this server. A name that the user has typed stays. */
export function presetOf(purpose: Purpose, role: Role, maxDays?: number | null, typed = '') {
  const { actions, days, name } = choiceOf(purpose, role)
  const isTyped = typed !== '' && choices.every((choice) => choice.name !== typed)
  return { purpose, name: isTyped ? typed : name, actions: actions ?? [], days: Math.min(days, maxDays ?? days) }
}

/** Returns whether tokens for this purpose can be limited to actions and packages. */
export const isLimited = (purpose: Purpose): boolean => choices.some(({ value, actions }) => value === purpose && actions !== null)

/** Splits what people type or paste into a field for several values, without repetitions. */
export const listed = (text: string): string[] => [...new Set(text.split(/[\s,;]+/).filter(Boolean))]

/** Returns the token to create. An action other than reading needs the scope `write`. */
export function tokenOf({ name, purpose, actions, packages, addresses, days }: TokenDraft, role: Role): CreateTokenInput {
  const { scopes } = choiceOf(purpose, role)
  const general = { name, addresses: orNull(listed(addresses)), expiresInDays: days || null }
  if (!isLimited(purpose)) return { ...general, scopes, actions: null, packages: null }
  const onlyReads = actions.every((action) => action === 'READ')
  return { ...general, scopes: onlyReads ? ['READ'] : scopes, actions, packages: orNull(listed(packages)) }
}

const orNull = (list: string[]) => (list.length > 0 ? list : null)
