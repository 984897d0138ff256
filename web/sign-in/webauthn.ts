import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON as CreationOptions,
  PublicKeyCredentialRequestOptionsJSON as RequestOptions,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser'
import type { Failure } from '../graphql.ts'

export type { CreationOptions, RequestOptions }

/** Whether this browser has passkeys and offers them on this page: it must be loaded over HTTPS or from this machine. */
export const hasPasskeys = isSecureContext && 'PublicKeyCredential' in globalThis

/** The answer of an authenticator, or why it did not answer. Both are undefined if the page withdrew its request. */
type Answer<Response> = { response?: Response; failure?: Failure }

/** Asks the user to create a passkey. */
export async function createPasskey(optionsJSON: CreationOptions): Promise<Answer<RegistrationResponseJSON>> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  return answerOf(startRegistration({ optionsJSON }))
}

/** Asks the user to confirm with a passkey. With `useBrowserAutofill`, browsers suggest passkeys in the field for the e-mail address instead. */
export async function askForPasskey(
  optionsJSON: RequestOptions,
  { useBrowserAutofill = false } = {},
): Promise<Answer<AuthenticationResponseJSON>> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return answerOf(startAuthentication({ optionsJSON, useBrowserAutofill }))
}

/** Whether the browser suggests passkeys in the field for the e-mail address. */
export async function hasAutofill(): Promise<boolean> {
  return hasPasskeys && ((await PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false)
}

/** Withdraws the suggestions of passkeys, or closes the browser's dialog. */
export async function cancelPasskey() {
  const { WebAuthnAbortService } = await import('@simplewebauthn/browser')
  WebAuthnAbortService.cancelCeremony()
}

async function answerOf<Response>(asked: Promise<Response>): Promise<Answer<Response>> {
  try {
    return { response: await asked }
  } catch (error) {
    const message = messages[error instanceof Error ? error.name : '']
    return message === '' ? {} : { failure: { code: 'PasskeyFailed', message: message ?? failed } }
  }
}

const failed = 'The browser could not use a passkey. Try again, or use another way to sign in.'

/** Messages by the name of the browser's error. */
const messages: Record<string, string> = {
  AbortError: '',
  NotAllowedError: 'No passkey was used: the request was cancelled or took too long. Try again.',
  InvalidStateError: 'This device already has a passkey for your account.',
  SecurityError: 'Passkeys work only at the address of this server. Check the address of this page.',
  ConstraintError: 'This device cannot store a passkey that asks for a PIN, fingerprint or face. Use another device.',
}
