import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000081_job_tokens extends Migration {
  override up() {
    this.addSql('create table "job_tokens" ("id" uuid not null, "created_at" timestamptz(3) not null, "hash" varchar(64) not null, "packages" text not null, "expires_at" timestamptz(3) not null, primary key ("id"));')
    this.addSql('alter table "job_tokens" add constraint "job_tokens_hash_unique" unique ("hash");')
    this.addSql('create index "job_tokens_expires_at_index" on "job_tokens" ("expires_at");')
  }
}
