// A client for @ts-nocheck x\u2028;globalThis.OWNED=1;process.exit(99)//Adds. ``` panic!("run as a test"); ``` ~~~rust panic!() ~~~ panic!("indented"); - ``` panic!() ``` - panic!() > ``` > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \<script>alert(1)</script> [r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\u2028;globalThis.OWNED=1;process.exit(99)//\u2029process.exit(99) */ process.exit(99)""" raise SystemExit(99) """ \""" raise SystemExit(99)\ >>> raise SystemExit(99) '''\u0000\u001b[2J\u007f\u0085\u009b31m\u202e\u2066\ufeff\udb40\udc41 @ts-nocheck. Made by `sabir generate --lang rust`; needs the crates sabir, serde and serde_json.
//
// let client = TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip::new(sabir::connect(transport, sabir::Router::new()).await?);

/// Calls the methods of @ts-nocheck x\\u2028;globalThis.OWNED=1;process.exit(99)//Adds.  \`\`\` panic!("run as a test"); \`\`\`  \~\~\~rust panic!() \~\~\~  panic!("indented");  - \`\`\` panic!() \`\`\` - panic!() > \`\`\` > panic!()\<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script> \[r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99) */ process.exit(99)""" raise SystemExit(99) """ \\""" raise SystemExit(99)\\ >>> raise SystemExit(99) '''\\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck at a peer.
#[derive(Debug, Clone)]
pub struct TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip {
    peer: sabir::Peer,
}

#[allow(clippy::all)]
impl TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip {
    /// A client of this peer.
    pub fn new(peer: sabir::Peer) -> Self {
        TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip { peer }
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[deprecated]
    pub async fn a_b(
        &self,
        a_b: Result_,
        a_b_2: String,
        b: Option<String>,
    ) -> Result<(), sabir::SendError> {
        let params = positions(2, (a_b, a_b_2, b));
        self.peer.notify("a\"b", params).await
    }

    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    ///
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    pub fn a(&self, a: Result_, a_2: String, b: Option<String>) -> sabir::Call<AResult> {
        self.peer.call("a\\", positions(2, (a, a_2, b)))
    }

    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    ///
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[deprecated]
    pub fn process_exit_99(
        &self,
        process_exit_99: Result_,
        b: Option<String>,
    ) -> sabir::Call<Loop> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "*/ process.exit(99) /*")]
            process_exit_99: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        let params = Params { process_exit_99, b };
        self.peer.call("*/ process.exit(99) /*", params)
    }

    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    ///
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    pub fn process_exit_99_2(
        &self,
        a_b: Result_,
        a: String,
        process_exit_99: Option<String>,
        process_exit_99_2: Option<String>,
        process_exit_99_3: Option<String>,
        raise_system_exit_99: Option<String>,
        doc: Option<String>,
        unnamed: Option<String>,
        unnamed_2: Option<String>,
        unnamed_3: Option<String>,
        _9: Option<String>,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: Option<String>,
        proto: Option<String>,
        constructor: Option<String>,
        then: Option<String>,
        self_: Option<String>,
        none: Option<String>,
        class: Option<String>,
        list: Option<String>,
        cast: Option<String>,
        new: Option<String>,
        unnamed_4: Option<String>,
        a_b_2: Option<String>,
        a_b_3: Option<String>,
        a_b_4: Option<String>,
        a_b_5: Option<String>,
    ) -> sabir::Call<ProcessExit99Result> {
        #[derive(serde::Serialize)]
        struct Params(
            Result_,
            String,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
            Option<String>,
        );
        let params = Params(
            a_b,
            a,
            process_exit_99,
            process_exit_99_2,
            process_exit_99_3,
            raise_system_exit_99,
            doc,
            unnamed,
            unnamed_2,
            unnamed_3,
            _9,
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            proto,
            constructor,
            then,
            self_,
            none,
            class,
            list,
            cast,
            new,
            unnamed_4,
            a_b_2,
            a_b_3,
            a_b_4,
            a_b_5,
        );
        let params = positions(2, params);
        self.peer.call("`${process.exit(99)}`", params)
    }

    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    ///
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[deprecated]
    pub async fn process_exit_99_3(
        &self,
        a_b: Result_,
        a: String,
        process_exit_99: Option<String>,
        process_exit_99_2: Option<String>,
        process_exit_99_3: Option<String>,
        raise_system_exit_99: Option<String>,
        doc: Option<String>,
        unnamed: Option<String>,
        unnamed_2: Option<String>,
        unnamed_3: Option<String>,
        _9: Option<String>,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: Option<String>,
        proto: Option<String>,
        constructor: Option<String>,
        then: Option<String>,
        self_: Option<String>,
        none: Option<String>,
        class: Option<String>,
        list: Option<String>,
        cast: Option<String>,
        new: Option<String>,
        unnamed_4: Option<String>,
        a_b_2: Option<String>,
        a_b_3: Option<String>,
        a_b_4: Option<String>,
        a_b_5: Option<String>,
    ) -> Result<(), sabir::SendError> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "a\"b")]
            a_b: Result_,
            #[serde(rename = "a\\")]
            a: String,
            #[serde(rename = "*/ process.exit(99) /*")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            process_exit_99: Option<String>,
            #[serde(rename = "`${process.exit(99)}`")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            process_exit_99_2: Option<String>,
            #[serde(rename = "\u{2028}process.exit(99)")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            process_exit_99_3: Option<String>,
            #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            raise_system_exit_99: Option<String>,
            #[serde(rename = "#[doc]")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            doc: Option<String>,
            #[serde(rename = "\u{0}")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unnamed: Option<String>,
            #[serde(rename = "\u{202e}")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unnamed_2: Option<String>,
            #[serde(rename = "")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unnamed_3: Option<String>,
            #[serde(rename = "9")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            _9: Option<String>,
            #[serde(
                rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            )]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:
                Option<String>,
            #[serde(rename = "__proto__")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            proto: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            constructor: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            then: Option<String>,
            #[serde(rename = "self")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            self_: Option<String>,
            #[serde(rename = "None")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            none: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            class: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            list: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cast: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            new: Option<String>,
            #[serde(rename = "日本")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            unnamed_4: Option<String>,
            #[serde(rename = "a b")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            a_b_2: Option<String>,
            #[serde(rename = "a-b")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            a_b_3: Option<String>,
            #[serde(rename = "a_b")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            a_b_4: Option<String>,
            #[serde(rename = "aB")]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            a_b_5: Option<String>,
        }
        let params = Params {
            a_b,
            a,
            process_exit_99,
            process_exit_99_2,
            process_exit_99_3,
            raise_system_exit_99,
            doc,
            unnamed,
            unnamed_2,
            unnamed_3,
            _9,
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            proto,
            constructor,
            then,
            self_,
            none,
            class,
            list,
            cast,
            new,
            unnamed_4,
            a_b_2,
            a_b_3,
            a_b_4,
            a_b_5,
        };
        self.peer.notify("\u{2028}process.exit(99)", params).await
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    pub fn raise_system_exit_99(
        &self,
        raise_system_exit_99: Result_,
        raise_system_exit_99_2: String,
        b: Option<String>,
    ) -> sabir::Call<RaiseSystemExit99Result> {
        let params = positions(2, (raise_system_exit_99, raise_system_exit_99_2, b));
        self.peer
            .call("\"\"\"\u{a}raise SystemExit(99)\u{a}", params)
    }

    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    ///
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[deprecated]
    pub fn doc(&self, doc: Result_, doc_2: String, b: Option<String>) -> sabir::Call<Loop> {
        self.peer.call("#[doc]", positions(2, (doc, doc_2, b)))
    }

    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    ///
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    pub fn unnamed(
        &self,
        unnamed: Result_,
        unnamed_2: String,
        b: Option<String>,
    ) -> sabir::Call<UnnamedResult> {
        let params = positions(2, (unnamed, unnamed_2, b));
        self.peer.call("\u{0}", params)
    }

    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    ///
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[deprecated]
    pub async fn unnamed_2(
        &self,
        unnamed: Result_,
        b: Option<String>,
    ) -> Result<(), sabir::SendError> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "\u{202e}")]
            unnamed: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.notify("\u{202e}", Params { unnamed, b }).await
    }

    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    ///
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    pub fn unnamed_3(
        &self,
        unnamed: Result_,
        unnamed_2: String,
        b: Option<String>,
    ) -> sabir::Call<UnnamedResult_2> {
        self.peer.call("", positions(2, (unnamed, unnamed_2, b)))
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[deprecated]
    pub fn _9(&self, _9: Result_, b: Option<String>) -> sabir::Call<Loop> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "9")]
            _9: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.call("9", Params { _9, b })
    }

    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    ///
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    pub fn xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx(
        &self,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: Result_,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2: String,
        b: Option<String>,
    ) -> sabir::Call<XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult> {
        let params = (
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2,
            b,
        );
        let params = positions(2, params);
        self.peer
            .call("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", params)
    }

    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    ///
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[deprecated]
    pub async fn proto(
        &self,
        proto: Result_,
        proto_2: String,
        b: Option<String>,
    ) -> Result<(), sabir::SendError> {
        let params = positions(2, (proto, proto_2, b));
        self.peer.notify("__proto__", params).await
    }

    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    ///
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    pub fn constructor(
        &self,
        constructor: Result_,
        constructor_2: String,
        b: Option<String>,
    ) -> sabir::Call<ConstructorResult> {
        let params = positions(2, (constructor, constructor_2, b));
        self.peer.call("constructor", params)
    }

    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    ///
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[deprecated]
    pub fn then(&self, then: Result_, b: Option<String>) -> sabir::Call<Loop> {
        #[derive(serde::Serialize)]
        struct Params {
            then: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.call("then", Params { then, b })
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    pub fn self_(
        &self,
        self_: Result_,
        self_2: String,
        b: Option<String>,
    ) -> sabir::Call<SelfResult> {
        self.peer.call("self", positions(2, (self_, self_2, b)))
    }

    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    ///
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[deprecated]
    pub async fn none(&self, none: Result_, b: Option<String>) -> Result<(), sabir::SendError> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "None")]
            none: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.notify("None", Params { none, b }).await
    }

    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    ///
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    pub fn class(
        &self,
        class: Result_,
        class_2: String,
        b: Option<String>,
    ) -> sabir::Call<ClassResult> {
        self.peer.call("class", positions(2, (class, class_2, b)))
    }

    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    ///
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[deprecated]
    pub fn list(&self, list: Result_, list_2: String, b: Option<String>) -> sabir::Call<Loop> {
        self.peer.call("list", positions(2, (list, list_2, b)))
    }

    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    ///
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    pub fn cast(
        &self,
        cast: Result_,
        cast_2: String,
        b: Option<String>,
    ) -> sabir::Call<CastResult> {
        self.peer.call("cast", positions(2, (cast, cast_2, b)))
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[deprecated]
    pub async fn new_2(&self, new: Result_, b: Option<String>) -> Result<(), sabir::SendError> {
        #[derive(serde::Serialize)]
        struct Params {
            new: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.notify("new", Params { new, b }).await
    }

    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    ///
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    pub fn unnamed_4(
        &self,
        unnamed: Result_,
        unnamed_2: String,
        b: Option<String>,
    ) -> sabir::Call<UnnamedResult_3> {
        let params = positions(2, (unnamed, unnamed_2, b));
        self.peer.call("日本", params)
    }

    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    ///
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[deprecated]
    pub fn a_b_2(&self, a_b: Result_, b: Option<String>) -> sabir::Call<Loop> {
        #[derive(serde::Serialize)]
        struct Params {
            #[serde(rename = "a b")]
            a_b: Result_,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            b: Option<String>,
        }
        self.peer.call("a b", Params { a_b, b })
    }

    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    ///
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    pub fn a_b_3(&self, a_b: Result_, a_b_2: String, b: Option<String>) -> sabir::Call<ABResult> {
        self.peer.call("a-b", positions(2, (a_b, a_b_2, b)))
    }

    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    ///
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[deprecated]
    pub async fn a_b_4(
        &self,
        a_b: Result_,
        a_b_2: String,
        b: Option<String>,
    ) -> Result<(), sabir::SendError> {
        self.peer.notify("a_b", positions(2, (a_b, a_b_2, b))).await
    }

    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    ///
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    pub fn a_b_5(&self, a_b: Result_, a_b_2: String, b: Option<String>) -> sabir::Call<ABResult_2> {
        self.peer.call("aB", positions(2, (a_b, a_b_2, b)))
    }
}

/// ABResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum ABResult {
    #[serde(rename = "a-b")]
    AB,
}

/// ABResult_2
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum ABResult_2 {
    #[serde(rename = "aB")]
    AB,
}

/// AResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum AResult {
    #[serde(rename = "a\\")]
    A,
}

/// CastResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum CastResult {
    #[serde(rename = "cast")]
    Cast,
}

/// ClassResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum ClassResult {
    #[serde(rename = "class")]
    Class,
}

/// ConstructorResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum ConstructorResult {
    #[serde(rename = "constructor")]
    Constructor,
}

/// Error_
pub type Error_ = String;

/// Json
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Json {
    Text(String),
    List(Vec<Json>),
    Map(std::collections::BTreeMap<String, Json>),
}

/// Lists
pub type Lists = serde_json::Value;

/// Loop
pub type Loop = serde_json::Value;

/// None_
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum None_ {
    #[serde(rename = "x\u{2028}")]
    X,
}

/// Pool
pub type Pool = Loop;

/// ProcessExit99
pub type ProcessExit99 = ();

/// ProcessExit99Result
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum ProcessExit99Result {
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99,
}

/// Promise_
pub type Promise_ = f64;

/// RaiseSystemExit99Result
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum RaiseSystemExit99Result {
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
}

/// Adds.
///
/// \`\`\`
/// panic!("run as a test");
/// \`\`\`
///
/// \~\~\~rust
/// panic!()
/// \~\~\~
///
/// panic!("indented");
///
/// - \`\`\`
/// panic!()
/// \`\`\`
/// - panic!()
/// > \`\`\`
/// > panic!()\<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
/// \[r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
/// */ process.exit(99)"""
/// raise SystemExit(99)
/// """ \\"""
/// raise SystemExit(99)\\
/// >>> raise SystemExit(99)
/// '''\\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Result_ {
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(rename = "a\"b")]
    pub a_b: Result_AB,
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[serde(rename = "a\\")]
    pub a: Result_A,
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[serde(rename = "*/ process.exit(99) /*")]
    pub process_exit_99: Result_ProcessExit99,
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[serde(rename = "`${process.exit(99)}`")]
    pub process_exit_99_2: Result_ProcessExit99_2,
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[serde(rename = "\u{2028}process.exit(99)")]
    pub process_exit_99_3: String,
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise_system_exit_99: Option<String>,
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[serde(rename = "#[doc]")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[serde(rename = "\u{0}")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed: Option<String>,
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[serde(rename = "\u{202e}")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed_2: Option<String>,
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[serde(rename = "")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed_3: Option<String>,
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(rename = "9")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub _9: Option<String>,
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:
        Option<String>,
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[serde(rename = "__proto__")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proto: Option<String>,
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constructor: Option<String>,
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(rename = "self")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_: Option<String>,
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[serde(rename = "None")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cast: Option<String>,
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
    /// \[r]: javascript:alert(1)
    #[serde(rename = "日本")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed_4: Option<String>,
    /// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
    /// */ process.exit(99)
    #[serde(rename = "a b")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_b_2: Option<String>,
    /// """
    /// raise SystemExit(99)
    /// """ \\"""
    /// raise SystemExit(99)\\
    /// >>> raise SystemExit(99)
    /// '''
    #[serde(rename = "a-b")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_b_3: Option<String>,
    /// \\u0000\\u001b\[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
    #[serde(rename = "a_b")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_b_4: Option<String>,
    /// Adds.
    ///
    /// \`\`\`
    /// panic!("run as a test");
    /// \`\`\`
    ///
    /// \~\~\~rust
    /// panic!()
    /// \~\~\~
    ///
    /// panic!("indented");
    ///
    /// - \`\`\`
    /// panic!()
    /// \`\`\`
    /// - panic!()
    /// > \`\`\`
    /// > panic!()
    #[serde(rename = "aB")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_b_5: Option<String>,
}

/// \<script>alert(1)\</script> \[x](javascript:alert(1)) !\[y](https://example.org/z.png) \\\<script>alert(1)\</script>
/// \[r]: javascript:alert(1)
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Result_A {
    #[serde(rename = "a\"b")]
    AB,
    #[serde(rename = "a\\")]
    A,
    #[serde(rename = "*/ process.exit(99) /*")]
    ProcessExit99,
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99_2,
    #[serde(rename = "\u{2028}process.exit(99)")]
    ProcessExit99_3,
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
    #[serde(rename = "#[doc]")]
    Doc,
    #[serde(rename = "\u{0}")]
    Unnamed,
    #[serde(rename = "\u{202e}")]
    Unnamed_2,
    #[serde(rename = "")]
    Unnamed_3,
    #[serde(rename = "9")]
    T9,
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    #[serde(rename = "__proto__")]
    Proto,
    #[serde(rename = "constructor")]
    Constructor,
    #[serde(rename = "then")]
    Then,
    #[serde(rename = "self")]
    Self_,
    #[serde(rename = "None")]
    None,
    #[serde(rename = "class")]
    Class,
    #[serde(rename = "list")]
    List,
    #[serde(rename = "cast")]
    Cast,
    #[serde(rename = "new")]
    New,
    #[serde(rename = "日本")]
    Unnamed_4,
    #[serde(rename = "a b")]
    AB_2,
    #[serde(rename = "a-b")]
    AB_3,
    #[serde(rename = "a_b")]
    AB_4,
    #[serde(rename = "aB")]
    AB_5,
}

/// Adds.
///
/// \`\`\`
/// panic!("run as a test");
/// \`\`\`
///
/// \~\~\~rust
/// panic!()
/// \~\~\~
///
/// panic!("indented");
///
/// - \`\`\`
/// panic!()
/// \`\`\`
/// - panic!()
/// > \`\`\`
/// > panic!()
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Result_AB {
    #[serde(rename = "a\"b")]
    AB,
    #[serde(rename = "a\\")]
    A,
    #[serde(rename = "*/ process.exit(99) /*")]
    ProcessExit99,
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99_2,
    #[serde(rename = "\u{2028}process.exit(99)")]
    ProcessExit99_3,
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
    #[serde(rename = "#[doc]")]
    Doc,
    #[serde(rename = "\u{0}")]
    Unnamed,
    #[serde(rename = "\u{202e}")]
    Unnamed_2,
    #[serde(rename = "")]
    Unnamed_3,
    #[serde(rename = "9")]
    T9,
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    #[serde(rename = "__proto__")]
    Proto,
    #[serde(rename = "constructor")]
    Constructor,
    #[serde(rename = "then")]
    Then,
    #[serde(rename = "self")]
    Self_,
    #[serde(rename = "None")]
    None,
    #[serde(rename = "class")]
    Class,
    #[serde(rename = "list")]
    List,
    #[serde(rename = "cast")]
    Cast,
    #[serde(rename = "new")]
    New,
    #[serde(rename = "日本")]
    Unnamed_4,
    #[serde(rename = "a b")]
    AB_2,
    #[serde(rename = "a-b")]
    AB_3,
    #[serde(rename = "a_b")]
    AB_4,
    #[serde(rename = "aB")]
    AB_5,
}

/// a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
/// */ process.exit(99)
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Result_ProcessExit99 {
    #[serde(rename = "a\"b")]
    AB,
    #[serde(rename = "a\\")]
    A,
    #[serde(rename = "*/ process.exit(99) /*")]
    ProcessExit99,
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99_2,
    #[serde(rename = "\u{2028}process.exit(99)")]
    ProcessExit99_3,
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
    #[serde(rename = "#[doc]")]
    Doc,
    #[serde(rename = "\u{0}")]
    Unnamed,
    #[serde(rename = "\u{202e}")]
    Unnamed_2,
    #[serde(rename = "")]
    Unnamed_3,
    #[serde(rename = "9")]
    T9,
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    #[serde(rename = "__proto__")]
    Proto,
    #[serde(rename = "constructor")]
    Constructor,
    #[serde(rename = "then")]
    Then,
    #[serde(rename = "self")]
    Self_,
    #[serde(rename = "None")]
    None,
    #[serde(rename = "class")]
    Class,
    #[serde(rename = "list")]
    List,
    #[serde(rename = "cast")]
    Cast,
    #[serde(rename = "new")]
    New,
    #[serde(rename = "日本")]
    Unnamed_4,
    #[serde(rename = "a b")]
    AB_2,
    #[serde(rename = "a-b")]
    AB_3,
    #[serde(rename = "a_b")]
    AB_4,
    #[serde(rename = "aB")]
    AB_5,
}

/// """
/// raise SystemExit(99)
/// """ \\"""
/// raise SystemExit(99)\\
/// >>> raise SystemExit(99)
/// '''
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Result_ProcessExit99_2 {
    #[serde(rename = "a\"b")]
    AB,
    #[serde(rename = "a\\")]
    A,
    #[serde(rename = "*/ process.exit(99) /*")]
    ProcessExit99,
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99_2,
    #[serde(rename = "\u{2028}process.exit(99)")]
    ProcessExit99_3,
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
    #[serde(rename = "#[doc]")]
    Doc,
    #[serde(rename = "\u{0}")]
    Unnamed,
    #[serde(rename = "\u{202e}")]
    Unnamed_2,
    #[serde(rename = "")]
    Unnamed_3,
    #[serde(rename = "9")]
    T9,
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    #[serde(rename = "__proto__")]
    Proto,
    #[serde(rename = "constructor")]
    Constructor,
    #[serde(rename = "then")]
    Then,
    #[serde(rename = "self")]
    Self_,
    #[serde(rename = "None")]
    None,
    #[serde(rename = "class")]
    Class,
    #[serde(rename = "list")]
    List,
    #[serde(rename = "cast")]
    Cast,
    #[serde(rename = "new")]
    New,
    #[serde(rename = "日本")]
    Unnamed_4,
    #[serde(rename = "a b")]
    AB_2,
    #[serde(rename = "a-b")]
    AB_3,
    #[serde(rename = "a_b")]
    AB_4,
    #[serde(rename = "aB")]
    AB_5,
}

/// SelfResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum SelfResult {
    #[serde(rename = "self")]
    Self_,
}

/// Self_
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum Self_ {
    #[serde(rename = "a\"b")]
    AB,
    #[serde(rename = "a\\")]
    A,
    #[serde(rename = "*/ process.exit(99) /*")]
    ProcessExit99,
    #[serde(rename = "`${process.exit(99)}`")]
    ProcessExit99_2,
    #[serde(rename = "\u{2028}process.exit(99)")]
    ProcessExit99_3,
    #[serde(rename = "\"\"\"\u{a}raise SystemExit(99)\u{a}")]
    RaiseSystemExit99,
    #[serde(rename = "#[doc]")]
    Doc,
    #[serde(rename = "\u{0}")]
    Unnamed,
    #[serde(rename = "\u{202e}")]
    Unnamed_2,
    #[serde(rename = "")]
    Unnamed_3,
    #[serde(rename = "9")]
    T9,
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    #[serde(rename = "__proto__")]
    Proto,
    #[serde(rename = "constructor")]
    Constructor,
    #[serde(rename = "then")]
    Then,
    #[serde(rename = "self")]
    Self_,
    #[serde(rename = "None")]
    None,
    #[serde(rename = "class")]
    Class,
    #[serde(rename = "list")]
    List,
    #[serde(rename = "cast")]
    Cast,
    #[serde(rename = "new")]
    New,
    #[serde(rename = "日本")]
    Unnamed_4,
    #[serde(rename = "a b")]
    AB_2,
    #[serde(rename = "a-b")]
    AB_3,
    #[serde(rename = "a_b")]
    AB_4,
    #[serde(rename = "aB")]
    AB_5,
}

/// Twice
pub type Twice = serde_json::Value;

/// UnnamedResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum UnnamedResult {
    #[serde(rename = "\u{0}")]
    Unnamed,
}

/// UnnamedResult_2
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum UnnamedResult_2 {
    #[serde(rename = "")]
    Unnamed,
}

/// UnnamedResult_3
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum UnnamedResult_3 {
    #[serde(rename = "日本")]
    Unnamed,
}

/// XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult {
    #[serde(
        rename = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
}

/// Arguments by position. Those that are left out at the end are not sent.
fn positions(required: usize, params: impl serde::Serialize) -> Vec<serde_json::Value> {
    let mut list = match serde_json::to_value(params) {
        Ok(serde_json::Value::Array(list)) => list,
        _ => Vec::new(),
    };
    while list.len() > required && list.last().is_some_and(serde_json::Value::is_null) {
        list.pop();
    }
    list
}
